from dataclasses import replace

import pytest

from loudr_core.errors import ConfigError, QualityError, StoreUnavailable
from loudr_core.findings import Finding
from loudr_core.speech import wire
from loudr_core.speech.limits import EMBEDDED
from loudr_core.speech.orders import Attempt, Choice, Order, Outcome, TakeResult
from loudr_core.speech.protocol import VoiceInfo

FINDING = Finding(code="audio-dc", severity="warning", message="“Drift”.", where={"start_s": 0.5})
RESULT = TakeResult(
    segment_id="c001-s0001",
    job_key="j",
    take_key="t",
    attempt=1,
    seed=2**64 - 1,
    status="ok",
    n_samples=5,
    sample_rate_hz=24_000,
    pcm_sha256="p",
    tokens=3,
    windows=1,
    findings=(FINDING,),
    compute_s=0.25,
    worker="worker-0",
    fingerprint="f",
)


def test_orders_survive() -> None:
    order = Order(
        id="c001-s0001",
        job_key="j",
        choice_key="choice/j",
        text="A line\nand\u2028another — “so”.",
        language="en",
        voice="heart",
        attempts=(Attempt(number=0, seed=2**64 - 1, take_key="t"),),
        speed=1.25,
        phonemes="həlˈO",
    )
    line = wire.encode(wire.order_to_json(order))
    assert line.count(b"\n") == 1
    assert wire.order_from_json(wire.decode(line)) == order


def test_outcomes_survive() -> None:
    choice = Choice(
        job_key="j",
        status="suspect",
        take_key="t",
        attempt=1,
        seed=2**64 - 1,
        n_samples=5,
        sample_rate_hz=24_000,
        pcm_sha256="p",
        findings=(FINDING,),
    )
    outcome = Outcome(
        id="c001-s0001", job_key="j", choice=choice, rendered=1, reused=0, results=(RESULT,)
    )
    again = wire.decode(wire.encode(wire.outcome_to_json(outcome)))
    assert wire.outcome_from_json(again) == outcome


def test_engine_descriptions_survive() -> None:
    info = wire.EngineInfo(
        name="embedded",
        fingerprint="f",
        sample_rate_hz=24_000,
        limits=replace(EMBEDDED, alphabet=frozenset("ab "), speeds=(0.75, 2.0)),
        voices=(VoiceInfo(name="heart", language="en-US", sha256="s"),),
    )
    assert wire.info_from_json(wire.decode(wire.encode(wire.info_to_json(info)))) == info


def test_errors_keep_their_class_and_context() -> None:
    error = StoreUnavailable("no answer from the store", url="s3://x", when={1, 2})
    again = wire.error_from_json(wire.decode(wire.encode(wire.error_to_json(error))))
    assert type(again) is StoreUnavailable
    assert again.message == error.message
    assert again.context == {"url": "s3://x", "when": "{1, 2}"}
    assert type(wire.error_from_json(wire.error_to_json(QualityError("x")))) is QualityError
    strange = wire.error_from_json({"class": "ClassVar", "message": "m", "context": {}})
    assert strange.exit_code == 7


@pytest.mark.parametrize(
    ("count", "said"),
    [(2, "it has koko:000, koko:001"), (128, "it has 128, koko:000 to koko:127, which")],
)
def test_many_voices_are_named_by_their_ends(count: int, said: str) -> None:
    voices = tuple(
        VoiceInfo(name=f"koko:{number:03d}", language="en", sha256="s") for number in range(count)
    )
    info = wire.EngineInfo(
        name="koko", fingerprint="f", sample_rate_hz=24_000, limits=EMBEDDED, voices=voices
    )
    with pytest.raises(ConfigError, match="engine 'koko' has no voice 'koko:128'") as caught:
        info.voice("koko:128")
    assert said in caught.value.message
