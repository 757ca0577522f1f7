from dataclasses import replace

import numpy as np
import pytest

from loudr_core.audio.detectors import DetectorPolicy
from loudr_core.findings import Finding
from loudr_core.speech import choosing, takes
from loudr_core.speech.orders import Attempt, Order, TakeResult, audio_key
from loudr_core.testing import MemoryStore

RATE = 24_000
ATTEMPTS = tuple(Attempt(number=n, seed=n, take_key=f"{n}" * 64) for n in range(3))
ORDER = Order(
    id="c001-s0001",
    job_key="j" * 64,
    choice_key="choice/j",
    text="Some words that are spoken here.",
    language="en",
    voice="low",
    attempts=ATTEMPTS,
)
ROW = TakeResult(
    segment_id=ORDER.id,
    job_key=ORDER.job_key,
    take_key=ATTEMPTS[0].take_key,
    attempt=0,
    seed=0,
    status="failed",
    n_samples=0,
    sample_rate_hz=RATE,
    pcm_sha256="",
    tokens=30,
    windows=1,
    findings=(),
    compute_s=0.5,
    worker="worker-0",
    fingerprint="f",
)


def tone(hertz: float = 200.0) -> np.ndarray:
    time = np.arange(2 * RATE) / RATE
    samples = 0.3 * np.sin(2 * np.pi * hertz * time * (1 + 0.2 * time))
    return (samples * np.hanning(len(samples))).astype(np.float32)


def finding(severity: str, code: str = "audio-x") -> Finding:
    return Finding(code=code, severity=severity, message="Something.")  # type: ignore[arg-type]


@pytest.fixture
def quiet_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takes, "inspect", lambda samples, **_: ())


def made(samples: np.ndarray, *engine: Finding) -> takes.NewTake:
    return takes.new_take(ROW, samples, engine, order=ORDER, policy=DetectorPolicy())


def test_a_take_comes_back_as_it_was(quiet_detectors: None) -> None:
    store = MemoryStore()
    note = finding("warning", "speech-foreign-script")
    stored = takes.store_take(store, made(tone(), note))
    assert stored.status == "ok"
    assert stored.n_samples == 2 * RATE
    again = takes.load_take(store, ORDER, ATTEMPTS[0], DetectorPolicy())
    assert again == stored


def test_a_take_of_equal_words_names_who_asked(quiet_detectors: None) -> None:
    store = MemoryStore()
    takes.store_take(store, made(tone()))
    other = replace(ORDER, id="c009-s0002")
    row = takes.load_take(store, other, ATTEMPTS[0], DetectorPolicy())
    assert row is not None
    assert row.segment_id == "c009-s0002"


def test_a_stored_take_is_inspected_by_the_policy_of_now(
    monkeypatch: pytest.MonkeyPatch, quiet_detectors: None
) -> None:
    store = MemoryStore()
    takes.store_take(store, made(tone()))
    monkeypatch.setattr(takes, "inspect", lambda samples, **_: (finding("error"),))
    row = takes.load_take(store, ORDER, ATTEMPTS[0], DetectorPolicy())
    assert row is not None
    assert row.status == "suspect"


def test_detectors_see_the_stored_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(takes, "inspect", lambda samples, **_: seen.append(samples) or ())
    store = MemoryStore()
    takes.store_take(store, made(tone()))
    takes.load_take(store, ORDER, ATTEMPTS[0], DetectorPolicy())
    assert np.array_equal(seen[0], seen[1])


@pytest.mark.parametrize("damage", [b"", b"fLaC nonsense", b"half"])
def test_a_damaged_take_is_a_miss_and_replaced(quiet_detectors: None, damage: bytes) -> None:
    store = MemoryStore()
    take = made(tone())
    takes.store_take(store, take)
    key = audio_key(take.result.take_key)
    whole = store.get(key)
    assert whole is not None
    store.put(key, whole[: len(whole) // 2] if damage == b"half" else damage)
    assert takes.load_take(store, ORDER, ATTEMPTS[0], DetectorPolicy()) is None
    takes.store_take(store, take)
    assert store.get(key) == whole


def test_two_renderings_that_differ_are_loud(quiet_detectors: None) -> None:
    store = MemoryStore()
    first = takes.store_take(store, made(tone()))
    same = takes.store_take(store, made(tone()))
    assert same.pcm_sha256 == first.pcm_sha256
    assert same.findings == ()
    other = takes.store_take(store, made(tone(201.0)[:-10]))
    assert [each.code for each in other.findings] == ["nondeterministic"]
    assert other.status == "suspect"
    assert (other.pcm_sha256, other.n_samples) == (first.pcm_sha256, first.n_samples)


def test_samples_that_are_not_finite_are_no_take(quiet_detectors: None) -> None:
    samples = tone()
    samples[100] = np.inf
    take = made(samples)
    assert take.result.status == "failed"
    assert "not finite" in take.result.error
    assert made(samples[:0]).result.error == "the engine gave no samples"


def row(attempt: int, *severities: str, status: str = "suspect") -> TakeResult:
    return replace(
        ROW,
        attempt=attempt,
        take_key=ATTEMPTS[attempt].take_key,
        status=status,  # type: ignore[arg-type]
        findings=tuple(map(finding, severities)),
        error="" if status != "failed" else f"error {attempt}",
    )


@pytest.mark.parametrize(
    ("rows", "attempt", "status"),
    [
        ([row(0, "error", "error"), row(1, "error"), row(2, "error", "warning")], 1, "suspect"),
        ([row(0, "error", "warning"), row(1, "error")], 1, "suspect"),
        ([row(0, "error"), row(1, "error")], 0, "suspect"),
        ([row(0, "error"), row(1, "warning", status="ok")], 1, "ok"),
        ([row(0, status="failed"), row(1, "error")], 1, "suspect"),
    ],
)
def test_the_least_bad_take_is_chosen(rows: list[TakeResult], attempt: int, status: str) -> None:
    choice = choosing.choose(ORDER, rows)
    assert (choice.attempt, choice.status) == (attempt, status)
    assert choice.take_key == ATTEMPTS[attempt].take_key


def test_without_any_take_the_choice_is_failed() -> None:
    choice = choosing.choose(ORDER, [row(0, status="failed"), row(1, status="failed")])
    assert (choice.status, choice.take_key, choice.error) == ("failed", "", "error 1")


def test_the_fingerprint_holds_the_trim_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    before = takes.take_fingerprint("engine")
    assert takes.take_fingerprint("other") != before
    rule = takes.TrimRule(guard_after_s=0.5)
    monkeypatch.setattr(takes, "TrimRule", lambda: rule)
    assert takes.take_fingerprint("engine") != before
