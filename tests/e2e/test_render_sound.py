"""The sound of a rendered book: exact pauses, silent seams, and the same bytes whoever works."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import mutagen.mp4
import numpy as np
import pytest
from scipy.signal import correlate

from loudr_core.arrays import Mono
from loudr_core.audio.takefile import decode_take, from_pcm24
from loudr_core.jobs.table import Job

pytestmark = pytest.mark.slow

STEP = 0.001
"""-60 dBFS, as a share of full scale."""
LEAD_IN_MS = 500


def decoded(path: Path) -> tuple[Mono, int]:
    """Return the samples that a player plays, edit list applied, and their rate."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(stream)]
        return np.concatenate(frames).astype(np.float32), stream.rate


def takes_of(store: Path, jobs: list[Job]) -> list[Mono]:
    """Return the samples of each segment's only take."""
    takes = []
    for job in jobs:
        path = store / "audio" / job.job_key[:2] / f"{job.job_key}.flac"
        takes.append(from_pcm24(decode_take(path.read_bytes()).pcm))
    return takes


def place_of(take: Mono, sound: Mono, near: int) -> int:
    """Return where a take is found in the book, within 40 ms of a place."""
    reach = 960
    low = max(0, near - reach)
    window = sound[low : near + len(take) + reach]
    return low + int(np.argmax(correlate(window, take, "valid", method="fft")))


@pytest.fixture(params=["fake", "embedded"])
def rendered(
    request: pytest.FixtureRequest,
    inline: Any,
    shelf: Any,
    tone_book: Callable[..., Path],
    test_sample: Path,
    tmp_path: Path,
) -> dict[str, Any]:
    """Render a book twice: in two stores, with one engine process and with two."""
    engine = str(request.param)
    book = tone_book(chapters=2, paragraphs=10) if engine == "fake" else test_sample
    only = [] if engine == "fake" else ["--chapters", "3-4"]
    results = []
    for workers in ("2", "1"):
        calls = inline.with_(LOUDR_ENGINE=engine, LOUDR_WORKERS=workers)
        store, out = tmp_path / f"store-{workers}", tmp_path / f"out-{workers}"
        results.append(calls("render", book, *only, "-o", out, "--store", store, "--json").json)
    store = tmp_path / "store-2"
    chapters = (1, 2, 3) if engine == "fake" else (3, 4)
    return {
        "results": results,
        "store": store,
        "jobs": [job for job in shelf(store).jobs if job.chapter in chapters],
    }


def test_seams_pauses_and_bytes(rendered: dict[str, Any]) -> None:
    first, second = rendered["results"]
    jobs, takes = rendered["jobs"], takes_of(rendered["store"], rendered["jobs"])

    # Whoever works, in whatever folder: the same samples and the same bytes.
    assert first["pcm_sha256"] == second["pcm_sha256"]
    digests = [
        hashlib.sha256(Path(each["files"][0]["path"]).read_bytes()).hexdigest()
        for each in rendered["results"]
    ]
    assert digests[0] == digests[1] == first["files"][0]["sha256"]
    assert first["segments"]["rendered"] == first["segments"]["total"] == len(jobs) > 10

    # A take meets digital silence at both ends, so the step there is its own edge sample.
    step = STEP / 10 ** (first["loudness"]["gain_db"] / 20)
    for job, take in zip(jobs, takes, strict=True):
        assert abs(float(take[0])) < step, f"a step at the start of {job.segment_id}"
        assert abs(float(take[-1])) < step, f"a step at the end of {job.segment_id}"

    # In the finished file every take stands where the pauses put it. Pauses are exact, but for the
    # last of a chapter, which give or take 10 ms each so that it ends on a frame of the encoder.
    sound, rate = decoded(Path(first["files"][0]["path"]))
    at = rate * LEAD_IN_MS // 1000
    bent = dict.fromkeys([job.chapter for job in jobs], 0)
    for place, (job, take) in enumerate(zip(jobs, takes, strict=True)):
        found = place_of(take, sound, at)
        assert abs(found - at) <= rate // 100 + 2, f"{job.segment_id} is not at {at}"
        if place and abs(found - at) > 2:
            bent[jobs[place - 1].chapter] += 1
        pause = job.pause_after_ms * rate // 1000
        at = found + len(take) + pause
        silence = sound[at - pause + rate // 100 : at - rate // 100]
        assert len(silence) > 0
        assert np.abs(silence).max() < 10 ** (-50 / 20), f"a sound after {job.segment_id}"
    assert max(bent.values()) <= 4, f"pauses that are not exact: {bent}"
    assert abs(len(sound) - at) <= rate // 100 + 2
    assert len(sound) % 1024 == 0


def test_a_poison_segment_costs_the_book_itself_alone(
    inline: Any, tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """What kills its engine process twice is refused by name, or left out by name."""
    poison = "\n\nThe fakekill stood at the end of the pier all night and said nothing to them.\n"
    book = tone_book(chapters=1, paragraphs=8, extra=poison)
    command = ["render", book, "-o", tmp_path / "out", "--store", tmp_path / "store"]
    refused = inline(*command)
    assert refused.code == 8
    assert "Traceback" not in refused.err
    last = refused.err.splitlines()[-1]
    assert "segment c002-s0010 has no audio" in last
    assert "died twice" in last
    assert "--allow-gaps" in last
    assert not list((tmp_path / "out").glob("*"))

    result = inline(*command, "--allow-gaps", "--json").json
    assert result["segments"]["failed"] == 1
    assert result["segments"]["rendered"] == 0, "its neighbours were kept from the first run"
    (gap,) = [each for each in result["findings"] if each["code"] == "render-gap"]
    assert gap["where"]["segment_id"] == "c002-s0010"
    tags: Any = mutagen.mp4.MP4(result["files"][0]["path"]).tags

    assert "1 passage is missing from the audio: c002-s0010" in tags["\xa9cmt"][0]
