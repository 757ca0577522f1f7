"""Recorded runs of the reference engine over a scripted model of the real size."""

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import Poll, poll_of
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.passage import Passage, PassageOrder, speak
from loudr_core.speech.loudr1.philox import uniforms
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.voice import VoiceProfile

pytest.importorskip("loudkit", reason="the reference engine's text funnel is not installed")

from loudkit.frontend.speechtext import speech_text

VOCABULARY, STOP = 8194, 6562
VOICE = VoiceProfile(
    name="scripted",
    speaker_embedding=np.ones(256, np.float32),
    flow_embedding=np.ones(192, np.float32),
    prompt_tokens=np.arange(20, dtype=np.int64),
    prompt_mel=np.zeros((80, 40), np.float32),
    cond_prompt_tokens=np.arange(20, dtype=np.int64),
)
STALLS = [
    [*range(100, 120), *[6405] * (40 + 5 * (2 - call)), *range(200, 220)] for call in range(3)
]
FORCED: dict[str, Callable[[int], list[int]]] = {
    "normal": lambda call: [],
    "never_stops": lambda call: [],
    "silence_lock": lambda call: [],
    "dropout_then_ok": lambda call: [] if call else [100, 101, 102, STOP],
    "always_dropout": lambda call: [100 + call, 55 if call == 1 else 6405, 102, STOP],
    "stall_every_time": lambda call: STALLS[call] if call < len(STALLS) else [],
    "loop_tail": lambda call: [*range(100, 130), *[700, 701, 702] * 20],
    "loop_to_cap": lambda call: [*range(100, 130), *[700, 701, 702] * 80],
    "specials_emitted": lambda call: [100, 6561, 7000, 8193, *range(200, 240)],
}
NEVER_STOP = {"never_stops", "silence_lock", "loop_tail", "loop_to_cap"}


@functools.cache
def logits_of(step: int) -> NDArray[np.float32]:
    return (uniforms(777, 9, step, 1, VOCABULARY)[0] * 20 - 10).astype(np.float32)


@dataclass
class Recorded:
    """The model that the recordings were made with."""

    scenario: str
    algorithm: Algorithm
    calls: list[dict[str, Any]] = field(default_factory=list)
    mel_seeds: list[str] = field(default_factory=list)
    vocoder_seeds: list[str] = field(default_factory=list)

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        return np.arange(len(text), dtype=np.int64)

    def generate(
        self,
        text_ids: NDArray[np.int64],
        voice: VoiceProfile,
        *,
        sampler: Sampler,
        eos_floor: int,
        max_tokens: int,
        prefix: Sequence[int],
        poll: Poll,
    ) -> list[int]:
        call, n_text = len(self.calls), len(text_ids)
        forced = FORCED[self.scenario](call)
        start, slope = -8.0, 14 / max(1, 2.1 * n_text)
        if self.scenario in NEVER_STOP:
            start, slope = -30.0, 0.0
        no_floor = forced and STOP in forced
        seen = np.zeros(VOCABULARY, np.bool_)
        seen[list(prefix)] = True
        out: list[int] = []
        record = {
            "n_text": n_text,
            "seed": str(sampler._seed),
            "cap": max_tokens,
            "prefix": list(prefix),
            "eos_floor": eos_floor,
        }
        self.calls.append(record)
        while len(out) < max_tokens:  # the recorded model did not ask whether to stop
            logits = logits_of(len(out)).copy()
            logits[STOP] = start + slope * len(out)
            if self.scenario == "silence_lock":
                logits[6405] = 60
            if len(out) < eos_floor and not no_floor:
                logits[STOP] = -np.inf
            token = sampler.draw(logits, step=len(out), seen=seen)
            if len(out) < len(forced):
                token = forced[len(out)]
            out.append(token)
            if token == STOP:
                break
            seen[token] = True
        at, probability = sampler.eos_peak
        record |= {"n_out": len(out), "eos_peak_at": at, "out_sha256": sha256(out)}
        record["eos_peak_prob_hex"] = probability.hex()
        return out

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        self.mel_seeds.append(str(seed))
        return np.tile(np.repeat(np.asarray(tokens, np.float32) / 6561, 2), (80, 1))

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> NDArray[np.float32]:
        self.vocoder_seeds.append(str(seed))
        return np.repeat(mel[0], 480)


def sha256(tokens: Sequence[int]) -> str:
    return hashlib.sha256(np.asarray(tokens, "<i8").tobytes()).hexdigest()


@pytest.fixture(scope="module")
def production(test_data: Path) -> Algorithm:
    manifest = json.loads((test_data / "specs/loudr1/prod_manifest_min.json").read_text("utf-8"))
    return algorithm_from_manifest(manifest)


def test_recorded_runs_are_repeated(test_data: Path, production: Algorithm) -> None:
    recorded = json.loads(
        (test_data / "specs/loudr1/vectors/pipeline_scripted.json").read_text("utf-8")
    )
    fingerprint = algorithm_fingerprint(production)
    runs = [run for run in recorded["runs"] if run["algorithm"] == fingerprint]
    assert len(runs) == 29  # the others were made with configurations that are not recorded
    for run in runs:
        _check(run, production)


def _check(run: dict[str, Any], production: Algorithm) -> None:
    stages = Recorded(run["scenario"], production)
    kwargs = dict(run["kwargs"])
    cancelled = kwargs.pop("should_cancel", None)
    order = PassageOrder(text=run["text"], voice=VOICE, seed=int(run["seed"]), **kwargs)
    passage: Passage | None = None
    try:
        poll = poll_of((lambda: True) if cancelled else None)
        passage = speak(stages, order, speech_text, poll=poll)
    except (SynthesisError, ValueError):
        assert "error" in run, run
    where = (run["scenario"], run["text"], run["seed"], run["kwargs"])
    assert stages.mel_seeds == run["mel_seeds"], where
    assert stages.vocoder_seeds == run["vocoder_seeds"], where
    assert len(stages.calls) == len(run["calls"]), where
    for found, expected in zip(stages.calls, run["calls"], strict=True):
        # A recorded seed is as the caller gave it, of any size.
        wanted = {**expected, "seed": str(int(expected["seed"]) % 2**64)}
        observes = wanted.pop("observes_stop")
        assert observes
        assert found == wanted | {key: found[key] for key in found.keys() - wanted.keys()}, where
    if "error" in run:
        assert passage is None, where
        return
    assert passage is not None
    assert sha256(passage.tokens) == run["tokens_sha256"], where
    assert list(passage.mel.shape) == run["mel_shape"]
    assert len(passage.audio) == run["n_samples"]
    assert (passage.hit_token_cap, passage.suspect) == (run["hit_token_cap"], run["suspect"])
    assert [[v.reason, v.keep, v.suspect] for v in passage.verdicts] == run["inspections"]
    assert [[c.text, c.tokens, c.start, c.end] for c in passage.chunks] == run["chunks"]
    assert hashlib.sha256(passage.audio.tobytes()).hexdigest() == run["audio_sha256"], where
