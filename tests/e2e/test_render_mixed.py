"""A book of three chapters by three engines at three rates, on tiny bundles, to one M4B."""

import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from scipy.signal import correlate

from loudr_core.arrays import Mono
from loudr_core.audio.resample import resample, resampled_length
from loudr_core.audio.takefile import decode_take, from_pcm24
from loudr_core.publish.boxes import read_layout

pytestmark = pytest.mark.slow

BOOK = """# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

"Who is that on the pier?" asked the boy. His aunt did not answer him at once.

# The Far Shore

They came to the far shore before the lamps were lit, and seven boats lay there without a mast.

The boy counted them twice, and then he slept.

# The Morning

In the morning there was nothing on the sand but a rope, a lantern, and one wet glove.

He took the lantern, and left the rope where it was.
"""
CAST = """
engine = "koko"
bundle = "{folder}/koko-tts"
voice = "koko:046"

[voices.wren]
engine = "sanotts"
bundle = "{folder}/voice"

[voices.bruno]
engine = "bluetts"
bundle = "{folder}/BlueTTS2.5-onnx"
voice = "bruno"
options = {{ phonemizer = "espeak-ng", n_steps = 4 }}

[[cast]]
voice = "wren"
chapters = 2

[[cast]]
voice = "bruno"
title = "*morning"
"""
VOICES = {1: ("koko", "koko:046"), 2: ("sanotts", "wren"), 3: ("bluetts", "bruno")}
RATES = {"koko": 24_000, "sanotts": 22_050, "bluetts": 44_100}

ESPEAK = """
import sys
if "--version" in sys.argv:
    print("eSpeak NG text-to-speech: 1.52 stand-in")
else:
    words = sys.stdin.read().lower()
    print("".join(each for each in words if each.isalpha() or each == " ").replace("g", "\\u0261"))
"""


@dataclass(frozen=True)
class Stage:
    """A book, its cast, and a command line that finds the programs of the engines."""

    folder: Path
    book: Path
    profile: Path
    loudr: Any

    def arguments(self, place: str, *more: str | Path) -> tuple[str | Path, ...]:
        return (
            *("render", self.book, "--profile", self.profile, "--json"),
            *("--store", self.folder / place, "-o", self.folder / f"{place}-out", *more),
        )

    def render(self, place: str, *more: str | Path, **variables: str) -> Any:
        return self.loudr.with_(**variables)(*self.arguments(place, *more)).json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bundle for each engine, and a program that says phonemes."""
    import bluetts
    import koko
    from sanotts_package import phoneme_config, write_package

    folder = tmp_path_factory.mktemp("mixed")
    koko.write_bundle(folder / "koko-tts")
    bluetts.write_bundle(folder / "BlueTTS2.5-onnx", manifest=True)
    write_package(folder / "voice", phonemes=phoneme_config(phoneme_type="text"))
    (folder / "ferry.md").write_text(BOOK, encoding="utf-8")
    (folder / "cast.toml").write_text(CAST.format(folder=folder), encoding="utf-8")
    programs = folder / "programs"
    programs.mkdir()
    script, program = programs / "espeak.py", programs / "espeak-ng"
    script.write_text(ESPEAK, encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.fixture
def stage(folder: Path, loudr: Any) -> Stage:
    path = f"{folder / 'programs'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    calls = loudr.with_(LOUDR_WORKERS="1", LOUDR_EXECUTOR="inline", PATH=path)
    calls.variables.pop("LOUDR_ENGINE")
    return Stage(folder, folder / "ferry.md", folder / "cast.toml", calls)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """Return where results are kept that several tests look at."""
    return {}


@pytest.fixture
def first(stage: Stage, made: dict[str, Any]) -> Any:
    """Return the result of the book rendered inline, by one process of each engine."""
    if "first" not in made:
        made["first"] = stage.render("first")
    return made["first"]


def decoded(path: str) -> Mono:
    with av.open(path) as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return np.concatenate(frames).astype(np.float32)


def take_of(store: Path, job: Any) -> tuple[Mono, int]:
    path = store / "audio" / job.job_key[:2] / f"{job.job_key}.flac"
    take = decode_take(path.read_bytes())
    return from_pcm24(take.pcm), take.sample_rate_hz


def place_of(take: Mono, sound: Mono, near: int, rate: int) -> int:
    """Return where a take is found in the book, within 40 ms of a place."""
    reach = rate // 25
    low = max(0, near - reach)
    window = sound[low : near + len(take) + reach]
    return low + int(np.argmax(correlate(window, take, "valid", method="fft")))


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def check_places(result: Any, jobs: list[Any], store: Path, rate: int) -> None:
    """Hold marks, lengths and pauses of the finished file against the takes in the store."""
    (file,) = result["files"]
    sound = decoded(file["path"])
    marks = read_layout(Path(file["path"])).quicktime
    assert marks is not None
    assert [mark.title for mark in marks] == ["The Ferry", "The Far Shore", "The Morning"]
    assert len(sound) == round(file["duration_s"] * rate)
    levels = result["loudness"]["voice_levels_db"]
    bent = 0
    for number, mark in enumerate(marks, 1):
        at = round(mark.start_s * rate)
        assert mark.start_s * rate == pytest.approx(at, abs=1e-3), "a mark between two samples"
        if number == 1:
            at += rate // 2  # the silence before the first word
        for place, job in enumerate(each for each in jobs if each.chapter == number):
            take, own = take_of(store, job)
            assert own == RATES[job.engine]
            heard = resample(take, own, rate)
            assert len(heard) == resampled_length(len(take), own, rate)
            gain_db = result["loudness"]["gain_db"] + levels[f"{job.voice} ({job.engine})"]
            edge = max(abs(float(heard[0])), abs(float(heard[-1]))) * 10 ** (gain_db / 20)
            assert edge < 10 ** (-60 / 20), "a step at a seam"
            found = place_of(heard, sound, at, rate)
            bent += abs(found - at) > 1
            assert abs(found - at) <= (rate // 100 if place else 1), f"{job.segment_id} at {found}"
            at = found + len(heard) + (2 * job.pause_after_ms * rate + 1000) // 2000
    assert bent <= 6, "pauses that are not exact"


def test_three_engines_make_one_book(stage: Stage, shelf: Any, first: Any) -> None:
    store = stage.folder / "first"
    jobs = shelf(store).jobs
    assert {job.chapter: (job.engine, job.voice) for job in jobs} == VOICES
    assert first["segments"]["rendered"] == first["segments"]["total"] == len(jobs)
    assert (first["segments"]["failed"], first["segments"]["retried"]) == (0, 0)
    assert first["sample_rate_hz"] == 44_100
    assert first["resampler"].startswith("soxr ")
    assert [(each["engine"], each["voice"]) for each in first["voices"]] == list(VOICES.values())
    assert [each["chapters"] for each in first["voices"]] == [[1], [2], [3]]
    assert first["loudness"]["integrated_lufs"] == pytest.approx(-19.0, abs=0.5)
    check_places(first, jobs, store, 44_100)
    (document,) = store.glob("books/*/plans/*/report/render.json")
    chapters = json.loads(document.read_text(encoding="utf-8"))["levels"]["chapters"]
    loud = [row["integrated_lufs"] for row in chapters]
    assert max(loud) - min(loud) <= 0.2, "voices of one loudness"
    checked = stage.loudr("check", first["files"][0]["path"], "--json").json
    assert checked["ok"]
    assert checked["format"]["sample_rate_hz"] == 44_100
    assert checked["tags"]["narrator"] == "koko:046, wren, bruno (synthetic voices)"
    assert "koko:046 (koko), wren (sanotts), bruno (bluetts)" in checked["tags"]["comment"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_another_run_elsewhere_is_the_same_to_the_bit(
    stage: Stage, first: Any, api: Any, workers: str
) -> None:
    """As a flow on this machine, where the first was rendered without Prefect."""
    other = stage.render(
        f"local-{workers}",
        LOUDR_EXECUTOR="local",
        LOUDR_WORKERS=workers,
        PREFECT_API_URL=api.url,
    )
    assert other["segments"]["rendered"] == other["segments"]["total"]
    assert other["pcm_sha256"] == first["pcm_sha256"]
    assert other["files"][0]["sha256"] == first["files"][0]["sha256"]
    assert sha256(other["files"][0]["path"]) == sha256(first["files"][0]["path"])


def test_the_same_takes_at_the_other_rate(stage: Stage, shelf: Any, first: Any) -> None:
    low = stage.folder / "low.toml"
    low.write_text(
        stage.profile.read_text(encoding="utf-8") + "\n[output]\nsample_rate_hz = 24000\n",
        encoding="utf-8",
    )
    before = shelf(stage.folder / "first").takes
    arguments = [low if each == stage.profile else each for each in stage.arguments("first")]
    result = stage.loudr(*arguments).json
    assert result["segments"]["rendered"] == 0
    assert result["pcm_sha256"] == first["pcm_sha256"]
    assert result["sample_rate_hz"] == 24_000
    assert result["plan_id"] != first["plan_id"]
    assert shelf(stage.folder / "first").takes == before
    plans = stage.folder / "first" / "books" / result["book_id"] / "plans"
    from loudr_core.jobs.table import read_jobs

    jobs = read_jobs((plans / result["plan_id"] / "jobs.parquet").read_bytes())
    check_places(result, jobs, stage.folder / "first", 24_000)


def test_killed_in_the_second_engine_it_goes_on(stage: Stage, shelf: Any, first: Any) -> None:
    store = shelf(stage.folder / "killed")
    run = stage.loudr.start(*stage.arguments("killed"))

    def second() -> bool:
        return any(
            path.stem in {job.job_key for job in store.jobs if job.chapter == 2}
            for path in store.path.glob("audio/*/*.flac")
        )

    run.until(second)
    run.watch()
    run.kill()
    assert run.left() == []
    run.process.communicate()
    before = store.takes
    assert 0 < len(before) < len(store.jobs)
    result = stage.render("killed")
    assert result["segments"]["rendered"] <= result["segments"]["total"] - len(before) + 1
    assert {key: store.takes[key] for key in before} == before
    assert result["pcm_sha256"] == first["pcm_sha256"]
    assert sha256(result["files"][0]["path"]) == sha256(first["files"][0]["path"])


def test_another_seed_changes_its_segment_alone(stage: Stage, shelf: Any) -> None:
    """A segment of the third chapter spoken again: what is before it stays, to the sample."""
    result = stage.render("again")
    before = decoded(result["files"][0]["path"])
    store = shelf(stage.folder / "again")
    (target,) = [job for job in store.jobs if job.segment_id == "c003-s0002"]
    takes = store.takes
    again = stage.loudr(
        "rerender", result["book_id"], "--segment", target.segment_id, "--seed", "12345",
        "--store", store.path, "--json",
    ).json  # fmt: skip
    assert again["segments"]["rendered"] == 1
    assert again["files"][0]["path"] == result["files"][0]["path"]
    assert again["pcm_sha256"] != result["pcm_sha256"]
    assert [each["voice"] for each in again["voices"]] == [voice for _, voice in VOICES.values()]
    assert {key: store.takes[key] for key in takes} == takes
    assert len(store.takes) == len(takes) + 1
    after = decoded(again["files"][0]["path"])
    marks = read_layout(Path(again["files"][0]["path"])).quicktime
    assert marks is not None
    third = round(marks[2].start_s * 44_100)
    heading, own = take_of(store.path, next(job for job in store.jobs if job.chapter == 3))
    untouched = third + resampled_length(len(heading), own, 44_100)
    if again["loudness"]["gain_db"] == result["loudness"]["gain_db"]:
        assert np.abs(after[:third] - before[:third]).max() < 1e-6
    length = min(len(before), len(after))
    changed = np.abs(after[:length] - before[:length])
    assert changed[:untouched].max() < 0.02, "the codec's rounding, at most"
    assert changed[untouched : untouched + 4 * 44_100].max() > 1e-4


def test_who_speaks_is_told_before_and_after(stage: Stage, first: Any) -> None:
    planned = stage.loudr(
        "plan", stage.book, "--profile", stage.profile, "--store", stage.folder / "first"
    )
    for engine, voice in VOICES.values():
        assert f"{voice} ({engine})" in planned.out
    page = stage.loudr(
        "report", first["book_id"], "--plan", first["plan_id"], "--json",
        "--store", stage.folder / "first", "-o", stage.folder / "page",
    ).json  # fmt: skip
    html = Path(page["path"]).read_text(encoding="utf-8")
    assert "koko:046 (koko), wren (sanotts), bruno (bluetts)" in html
    status = stage.loudr("status", "--store", stage.folder / "first", "--json").json
    assert {row["state"] for row in status["books"]} == {"finished"}


def test_the_narrator_may_be_built_in_and_two_voices_one_engine(
    stage: Stage, shelf: Any, folder: Path
) -> None:
    """The embedded voice reads what is left; two speakers of one bundle share its processes."""
    profile = folder / "embedded.toml"
    profile.write_text(
        f"""
[voices.boy]
engine = "koko"
bundle = "{folder}/koko-tts"
voice = "koko:001"

[voices.aunt]
engine = "koko"
bundle = "{folder}/koko-tts"
voice = "koko:002"
speed = 0.9

[[cast]]
voice = "boy"
chapters = "2"

[[cast]]
voice = "aunt"
chapters = [3]
""",
        encoding="utf-8",
    )
    arguments = [profile if each == stage.profile else each for each in stage.arguments("built-in")]
    result = stage.loudr(*arguments).json
    spoken = {job.chapter: (job.engine, job.voice) for job in shelf(folder / "built-in").jobs}
    assert spoken == {1: ("embedded", "heart"), 2: ("koko", "koko:001"), 3: ("koko", "koko:002")}
    assert result["sample_rate_hz"] == 24_000
    assert result["resampler"] == ""
    assert result["segments"]["failed"] == 0


REFUSALS: list[tuple[str, Callable[[str], str], int, str]] = [
    ("an unknown voice", lambda cast: cast.replace('voice = "wren"\nch', 'voice = "ren"\nch'), 3,
     "[[cast]] chapters 2: no voice 'ren' in [voices], which has bruno, wren"),
    ("two for one", lambda cast: cast.replace("*morning", "*far*"), 3,
     "chapters 2 and title '*far*' both match chapter 2"),
    ("no bundle", lambda cast: cast.replace('bundle = "{folder}/voice"\n', ""), 3,
     "engine 'sanotts' needs the voice's folder"),
    ("a speed that its options rule out",
     lambda cast: "speed = 0.5\noptions = {{ length_scale = 4 }}\n" + cast, 3,
     "speed 0.5 is outside 1 to 2, which are the speeds of engine 'koko' with its options"),
    ("no number", lambda cast: cast.replace("n_steps = 4", "n_steps = nan"), 3,
     "n_steps = nan is no finite number"),
    ("no such voice", lambda cast: cast.replace('"bruno"\nopt', '"carla"\nopt'), 3, "carla"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "said"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_what_is_wrong_is_one_line_before_anything_is_spoken(
    stage: Stage,
    tmp_path: Path,
    change: Callable[[str], str],
    code: int,
    said: str,
) -> None:
    profile = tmp_path / "wrong.toml"
    text = change(CAST).format(folder=stage.folder)
    assert text != CAST.format(folder=stage.folder), "nothing was changed"
    tomllib.loads(text)
    profile.write_text(text, encoding="utf-8")
    found = stage.loudr(
        "render", stage.book, "--profile", profile, "--store", tmp_path / "store", "-o", tmp_path
    )
    assert found.code == code, found.err
    assert said in found.err
    assert "Traceback" not in found.err
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("loudr: ")
    assert said in last
    assert not list((tmp_path / "store").glob("audio/**/*.flac"))
