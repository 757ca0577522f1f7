"""Golden takes with known damage, and what must never be taken for damage."""

import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from loudr_core.audio.detectors import CODES, DetectorPolicy, inspect
from loudr_core.audio.repeats import longest_repeated_letters
from loudr_core.audio.resample import resample
from loudr_core.audio.takefile import Take, decode_take, from_pcm24
from loudr_core.audio.trim import trim_edges
from loudr_core.errors import ConfigError

CASES = Path(__file__).parents[1] / "golden/findings"
NAMES = sorted(path.parent.name for path in CASES.glob("*/in.toml"))
RATE = 24000
TOLERANCE_S = 0.1


@cache
def stored(name: str) -> Take:
    return decode_take((CASES / name).read_bytes())


def place(seconds: float) -> int:
    return round(seconds * RATE)


def nan(samples: np.ndarray, *, at_s: float, length_s: float) -> np.ndarray:
    samples[place(at_s) : place(at_s + length_s)] = np.nan
    return samples


def zero(samples: np.ndarray, *, at_s: float, length_s: float) -> np.ndarray:
    samples[place(at_s) : place(at_s + length_s)] = 0
    return samples


def gain(samples: np.ndarray, *, gain_db: float) -> np.ndarray:
    return samples * np.float32(10 ** (gain_db / 20))


def gain_from(samples: np.ndarray, *, at_s: float, gain_db: float) -> np.ndarray:
    samples[place(at_s) :] *= np.float32(10 ** (gain_db / 20))
    return samples


def offset(samples: np.ndarray, *, by: float) -> np.ndarray:
    return samples + np.float32(by)


def clip(samples: np.ndarray, *, share_of_peak: float) -> np.ndarray:
    limit = np.abs(samples).max() * share_of_peak
    return np.clip(samples, -limit, limit)


def cut(samples: np.ndarray, *, at_s: float) -> np.ndarray:
    return trim_edges(samples[: place(at_s)], RATE)


def again(samples: np.ndarray, *, at_s: float, length_s: float) -> np.ndarray:
    end = place(at_s + length_s)
    return np.concatenate([samples[:end], samples[place(at_s) :]])


def insert_silence(samples: np.ndarray, *, at_s: float, length_s: float) -> np.ndarray:
    at, ramp = place(at_s), np.linspace(1, 0, 1200, dtype=np.float32)
    before, after = samples[:at].copy(), samples[at:].copy()
    before[-1200:] *= ramp
    after[:1200] *= ramp[::-1]
    return np.concatenate([before, np.zeros(place(length_s), np.float32), after])


DAMAGES: dict[str, Callable[..., np.ndarray]] = {
    each.__name__: each
    for each in (nan, zero, gain, gain_from, offset, clip, cut, again, insert_silence)
}


def spoken_alone(samples: np.ndarray) -> np.ndarray:
    """Fade a stretch in and out, and put the silence around it that an engine leaves."""
    faded = samples * np.hanning(len(samples))
    return np.pad(faded, place(0.2)).astype(np.float32)


def read_case(name: str) -> tuple[np.ndarray, str]:
    case = tomllib.loads((CASES / name / "in.toml").read_text())
    take = stored(case["take"])
    samples, text = from_pcm24(take.pcm), take.tags["text"]
    for damage in case.get("damage", []):
        kind = damage.pop("kind")
        if kind == "text":
            times = damage["times"]
            text = (text * max(1, int(times)))[: round(len(text) * times)]
        else:
            samples = DAMAGES[kind](samples, **damage)
    return samples, text


@pytest.mark.parametrize("name", NAMES)
def test_golden_take(name: str) -> None:
    samples, text = read_case(name)
    found = inspect(samples, sample_rate_hz=RATE, text=text)
    want = json.loads((CASES / name / "want.json").read_text())
    assert [(each.code, each.severity) for each in found] == [
        (each["code"], each["severity"]) for each in want
    ]
    for finding, expected in zip(found, want, strict=True):
        for key in ("start_s", "end_s"):
            if key in expected:
                assert finding.where[key] == pytest.approx(expected[key], abs=TOLERANCE_S)
        if "holds_s" in expected:
            assert finding.where["start_s"] < expected["holds_s"] < finding.where["end_s"]


def test_every_code_has_a_golden_case() -> None:
    wanted = {
        each["code"]
        for name in NAMES
        for each in json.loads((CASES / name / "want.json").read_text())
    }
    assert wanted == set(CODES)


def test_no_samples_are_silence() -> None:
    (finding,) = inspect(np.zeros(0, np.float32), sample_rate_hz=RATE, text="Hello.")
    assert finding.code == "audio-silent"


def test_a_steady_vowel_is_no_repeat() -> None:
    t = np.arange(4 * RATE) / RATE
    vowel = sum(np.sin(2 * np.pi * 140 * k * t) / k for k in range(1, 20)) * 0.1
    vowel = trim_edges(spoken_alone(vowel), RATE)
    codes = {each.code for each in inspect(vowel, sample_rate_hz=RATE, text="A" + "a" * 50)}
    assert codes == set()


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_the_expected_pace_follows_the_speed(speed: float) -> None:
    samples, text = read_case("good-speech")
    as_much = (text + text)[: round(len(text) * speed)]
    assert inspect(samples, sample_rate_hz=RATE, text=as_much, speed=speed) == ()
    (finding,) = inspect(samples, sample_rate_hz=RATE, text=as_much * 4, speed=speed)
    assert finding.code == "audio-too-fast"


@pytest.mark.parametrize("text", ["Oh!", "I", "Why?", "…"])
def test_a_very_short_text_has_no_strict_pace(text: str) -> None:
    samples, _ = read_case("good-speech")
    short = trim_edges(spoken_alone(samples[: place(0.4)]), RATE)
    assert inspect(short, sample_rate_hz=RATE, text=text) == ()


def test_findings_do_not_depend_on_the_call() -> None:
    samples, text = read_case("audio-repeat")
    before = samples.copy()
    first = inspect(samples, sample_rate_hz=RATE, text=text)
    assert first == inspect(samples, sample_rate_hz=RATE, text=text, policy=DetectorPolicy())
    assert np.array_equal(samples, before)


@pytest.mark.parametrize("rate", [16000, 22050, 44100, 48000])
def test_other_rates_give_the_same_findings(rate: int) -> None:
    for name in ("good-speech", "good-refrain", "audio-repeat", "audio-dropout"):
        samples, text = read_case(name)
        at_rate = resample(samples, RATE, rate)
        if name == "audio-dropout":  # a resampler rings into the silence; make it digital again
            at_rate[round(2.0 * rate) : round(2.2 * rate)] = 0
        codes = [each.code for each in inspect(at_rate, sample_rate_hz=rate, text=text)]
        assert codes == ([] if name.startswith("good") else [name])


def test_a_policy_comes_back_from_its_dict_and_names_itself() -> None:
    policy = DetectorPolicy(seconds_per_character=(0.03, 0.08), level_jump_db=20.0)
    back = DetectorPolicy.from_dict(json.loads(json.dumps(policy.as_dict())))
    assert back == policy
    assert back.digest() == policy.digest() != DetectorPolicy().digest()


def test_a_threshold_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="loudness_of_cats"):
        DetectorPolicy.from_dict({"loudness_of_cats": 1})


@pytest.mark.parametrize(
    "data",
    [
        {"level_jump_db": "loud"},
        {"level_jump_db": float("nan")},
        {"clip_run": 2.5},
        {"seconds_per_character": 0.05},
        {"seconds_per_character": [0.09, 0.04]},
    ],
)
def test_a_threshold_of_another_kind_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(data))):
        DetectorPolicy.from_dict(data)


@pytest.mark.parametrize(
    ("text", "want"), [("", 0), ("abc", 0), ("Ha, ha, ha!", 4), ("one two. One TWO three", 6)]
)
def test_longest_repeated_letters(text: str, want: int) -> None:
    assert longest_repeated_letters(text) == want
