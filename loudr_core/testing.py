"""What engines and stores are tested with: a fake engine, a store in memory, a conformance suite.

Shipped, since an engine made outside this repository needs them too. Needs no test framework:
pytest collects `EngineConformance` when a test class derives from it and a fixture `engine` exists.
"""

import ctypes
import hashlib
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.canonical import digest, low64
from loudr_core.errors import BundleError
from loudr_core.speech.limits import FAKE
from loudr_core.speech.protocol import Engine, Speech, SpeechRequest, VoiceInfo
from loudr_core.store.local import check_key
from loudr_core.store.protocol import StoredObject

__all__ = ["EngineConformance", "FakeEngine", "MemoryStore", "open_fake"]

_RATE_HZ = 24_000
_SECONDS_PER_CHARACTER = 0.06
_EDGE_S = 0.1
"""Silence before and after, as real engines leave it."""


def open_fake(
    *,
    bundle: Path | None = None,
    provider: str = "cpu",
    sleep_s: float = 0.0,
    load_s: float = 0.0,
    batch: int = 1,
    silent_attempts: int = 0,
    refuse: str = "",
    die_loading: bool = False,
    variant: str = "",
    poison: Mapping[str, str] | None = None,
    trace: str = "",
) -> "FakeEngine":
    """Open the fake engine; the factory of the registry. `bundle` and `provider` are ignored."""
    del bundle, provider
    time.sleep(load_s)
    if refuse:
        raise BundleError(refuse, path="fake")
    if die_loading:
        os.kill(os.getpid(), signal.SIGKILL)
    return FakeEngine(
        sleep_s=sleep_s,
        batch=batch,
        silent_attempts=silent_attempts,
        variant=variant,
        poison=poison,
        trace=trace,
    )


class FakeEngine:
    """Tones whose pitch and length follow text and seed, so that a swapped unit is heard.

    Words of the text do damage: `fakekill` kills the process, `fakehang` never answers, nor does
    `fakefreeze`, in a native call that keeps every thread of the process waiting, `fakememory`
    finds no memory, `fakeraise` breaks the stream, `fakeerror` answers with an error, `fakesilence`
    with silence, `fakenan` with samples that are not finite, `fakeprint` writes to standard output.

    Parameters
    ----------
    sleep_s : float
        Time that each unit takes.
    batch : int
        Units held at one time; the shortest of them is answered first.
    silent_attempts : int
        The first so many seeds of a text give silence, as an engine that fails at times.
    variant : str
        Part of the fingerprint and of the tones.
    poison : mapping of str to str, optional
        More words that do damage, each mapped to one of those above.
    trace : str
        File to which a line is added for each unit before it is spoken: seed and text.
    """

    name = "fake"
    sample_rate_hz = _RATE_HZ

    def __init__(
        self,
        *,
        sleep_s: float = 0.0,
        batch: int = 1,
        silent_attempts: int = 0,
        variant: str = "",
        poison: Mapping[str, str] | None = None,
        trace: str = "",
    ) -> None:
        self.limits = replace(FAKE, batch=batch)
        self._sleep_s = sleep_s
        self._silent_attempts = silent_attempts
        self._variant = variant
        self._poison = {**{word: word for word in _DAMAGE}, **(poison or {})}
        self._trace = Path(trace) if trace else None
        self._seeds: dict[str, list[int]] = {}

    def fingerprint(self) -> str:
        """Return the digest of name and variant."""
        return digest(["fake-1", self._variant])

    def voices(self) -> Sequence[VoiceInfo]:
        """Return two voices, an octave apart."""
        return tuple(
            VoiceInfo(name=name, language="en", sha256=digest(["fake-voice", name]))
            for name in ("low", "high")
        )

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: threading.Event | None = None
    ) -> Iterator[Speech]:
        """Answer requests, at most `batch` held at a time."""
        source = iter(requests)
        held: list[SpeechRequest] = []
        while cancel is None or not cancel.is_set():
            held += itertools.islice(source, self.limits.batch - len(held))
            if not held:
                return
            request = min(held, key=lambda each: len(each.text))
            held.remove(request)
            yield self._speak(request)

    def _speak(self, request: SpeechRequest) -> Speech:
        started = time.perf_counter()
        if self._trace is not None:
            with self._trace.open("a", encoding="utf-8") as lines:
                lines.write(f"{request.seed} {request.text}\n")
        error = self._complaint(request)
        words = set(request.text.lower().replace(".", " ").split())
        damage = {self._poison[word] for word in words & self._poison.keys()}
        for kind in sorted(damage):
            error = _DAMAGE[kind]() or error
        time.sleep(self._sleep_s)
        spent = time.perf_counter() - started
        if error:
            return Speech(id=request.id, samples=None, error=error, compute_s=spent)
        samples = _tones(request, self._variant)
        seeds = self._seeds.setdefault(request.text, [])
        if request.seed not in seeds:
            seeds.append(request.seed)
        if "fakesilence" in damage or seeds.index(request.seed) < self._silent_attempts:
            samples[:] = 0.0
        if "fakenan" in damage:
            samples[len(samples) // 2] = np.nan
        return Speech(id=request.id, samples=samples, tokens=len(request.text), compute_s=spent)

    def _complaint(self, request: SpeechRequest) -> str:
        if not any(symbol.isalnum() for symbol in request.text):
            return "nothing to say"
        if len(request.text) > self.limits.max_characters:
            return f"{len(request.text)} characters are more than {self.limits.max_characters}"
        if request.language.partition("-")[0] not in self.limits.languages:
            return f"no language {request.language!r}"
        if request.voice not in {voice.name for voice in self.voices()}:
            return f"no voice {request.voice!r}"
        if not (math.isfinite(request.speed) and 0.5 <= request.speed <= 2.0):
            return f"speed {request.speed} is outside 0.5 to 2.0"
        return ""


def _tones(request: SpeechRequest, variant: str) -> Mono:
    """Return one short tone per character, gliding, with soft edges and a little seeded noise."""
    codes = np.frombuffer(request.text.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    per_character = round(_SECONDS_PER_CHARACTER / request.speed * _RATE_HZ)
    octave = 2.0 if request.voice == "high" else 1.0
    seed = low64([variant, request.text, request.seed])
    noise = np.random.Generator(np.random.Philox(key=seed))
    # Places count too, and never in the same order again: otherwise a word said twice, or any two
    # stretches a period apart, would be a stretch repeated.
    places = np.random.Generator(np.random.Philox(key=0)).random(len(codes))
    pitch = octave * (110.0 + 17.0 * (codes % 13) + 900.0 * places)
    pitch *= 1.0 + 0.02 * noise.random()
    frequency = np.repeat(pitch, per_character)
    phase = 2.0 * np.pi * np.cumsum(frequency) / _RATE_HZ
    tone = 0.2 * np.sin(phase) + 0.08 * np.sin(2.0 * phase)
    tone += 0.001 * noise.standard_normal(len(tone))
    ramp = min(len(tone) // 2, round(0.05 * _RATE_HZ))
    tone[:ramp] *= np.linspace(0.0, 1.0, ramp)
    tone[len(tone) - ramp :] *= np.linspace(1.0, 0.0, ramp)
    return np.pad(tone, round(_EDGE_S * _RATE_HZ)).astype(np.float32)


def _kill() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def _hang() -> str:
    while True:
        time.sleep(3600.0)


def _freeze() -> str:
    ctypes.PyDLL(None).sleep(3600)  # keeps the interpreter's lock, as a stuck extension does
    return ""


def _no_memory() -> str:
    raise MemoryError("std::bad_alloc")


def _raise() -> str:
    raise RuntimeError("fakeraise was in the text")


def _print() -> str:
    os.write(1, b'{"type": "a print of some library"}\n')
    return ""


_DAMAGE: dict[str, Callable[[], str]] = {
    "fakekill": _kill,
    "fakehang": _hang,
    "fakefreeze": _freeze,
    "fakememory": _no_memory,
    "fakeraise": _raise,
    "fakeprint": _print,
    "fakeerror": lambda: "fakeerror was in the text",
    "fakesilence": lambda: "",
    "fakenan": lambda: "",
}


class MemoryStore:
    """A store in a dict, for tests; safe to use from several threads."""

    def __init__(self) -> None:
        self.url = "memory://"
        self._objects: dict[str, bytes] = {}
        self._written: dict[str, float] = {}
        self._guard = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the object, or None."""
        with self._guard:
            return self._objects.get(check_key(key))

    def put(self, key: str, data: bytes) -> None:
        """Write the object."""
        with self._guard:
            self._objects[check_key(key)] = bytes(data)
            self._written[key] = time.time()

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write the object unless one is there; say whether it was written."""
        with self._guard:
            if check_key(key) in self._objects:
                return False
            self._objects[key] = bytes(data)
            self._written[key] = time.time()
            return True

    def put_file(self, key: str, path: Path) -> None:
        """Write a file's bytes."""
        self.put(key, path.read_bytes())

    def exists(self, key: str) -> bool:
        """Say whether there is an object."""
        with self._guard:
            return check_key(key) in self._objects

    def delete(self, key: str) -> None:
        """Remove the object if there is one."""
        with self._guard:
            self._objects.pop(check_key(key), None)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the keys that start with `prefix`, sorted."""
        if "/" in prefix:
            check_key(prefix.rpartition("/")[0])
        with self._guard:
            keys = sorted(key for key in self._objects if key.startswith(prefix))
        yield from keys

    def now_s(self) -> float:
        """Return the time."""
        return time.time()

    def entries(self, prefix: str) -> Iterator[StoredObject]:
        """Yield what `list` does, with size, version and time of each object."""
        for key in self.list(prefix):
            with self._guard:
                data, written = self._objects.get(key), self._written.get(key, 0.0)
            if data is not None:
                version = f"{written:.9f}-{hashlib.sha256(data).hexdigest()[:12]}"
                yield StoredObject(key=key, size=len(data), version=version, modified_s=written)


class EngineConformance:
    """The promises of the engine protocol, each as a test.

    Derive a test class, set `arguments` to what `open_engine` takes, and define a fixture `engine`
    that returns the engine opened with them. Plain asserts; nothing is imported from pytest.
    """

    arguments: ClassVar[dict[str, Any]]
    texts: ClassVar[tuple[str, ...]] = (
        "The lamp went out.",
        "Nobody spoke, and the rain came down on the roof above them.",
        "Who is there?",
        "Seven small boats lay in the harbour, waiting for a wind.",
    )
    seed_matters: ClassVar[bool] = True

    def test_describes_itself(self, engine: Engine) -> None:
        """Name, rate, limits and voices are usable."""
        assert isinstance(engine, Engine)
        assert engine.name == self.arguments["name"]
        assert 8_000 <= engine.sample_rate_hz <= 192_000
        limits = engine.limits
        assert 0 < limits.target_characters <= limits.max_characters
        assert limits.languages
        assert limits.batch >= 1
        assert limits.peak_memory_bytes > 0
        assert 0 < limits.seconds_per_character[0] < limits.seconds_per_character[1]
        assert engine.voices()
        for voice in engine.voices():
            assert len(bytes.fromhex(voice.sha256)) == 32
            assert voice.language.partition("-")[0] in limits.languages

    def test_samples_are_finite_float32_of_one_channel(self, engine: Engine) -> None:
        """What comes is what `Mono` says, with its id and within the promised length."""
        for request, speech in self._spoken(engine, self._requests(engine)):
            assert speech.error == ""
            assert speech.samples is not None
            assert speech.samples.dtype == np.float32
            assert speech.samples.ndim == 1
            assert np.isfinite(speech.samples).all()
            seconds = len(speech.samples) / engine.sample_rate_hz
            assert 0.1 < seconds <= engine.limits.max_seconds
            assert float(np.abs(speech.samples).max()) > 0.01
            assert speech.id == request.id
            assert speech.compute_s >= 0

    def test_same_request_same_samples(self, engine: Engine) -> None:
        """Twice, alone, in another order and among other neighbours: the same samples."""
        requests = self._requests(engine)
        first = self._digests(engine, requests)
        assert self._digests(engine, requests) == first
        assert self._digests(engine, requests[::-1]) == first
        assert self._digests(engine, requests[1:2]) == {requests[1].id: first[requests[1].id]}

    def test_same_samples_in_another_process(self, engine: Engine) -> None:
        """A fresh process has the same fingerprint and speaks the same samples."""
        request = self._requests(engine)[0]
        script = (
            "import hashlib, json, sys\n"
            "from loudr_core.speech.protocol import SpeechRequest\n"
            "from loudr_core.speech.registry import open_engine\n"
            "arguments, request = json.loads(sys.argv[1])\n"
            "engine = open_engine(**arguments)\n"
            "speech = next(iter(engine.synthesize([SpeechRequest(**request)])))\n"
            "print(engine.fingerprint(), hashlib.sha256(speech.samples.tobytes()).hexdigest())\n"
        )
        fields = {name: getattr(request, name) for name in SpeechRequest.__slots__}
        command = [sys.executable, "-c", script, json.dumps([self.arguments, fields])]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        fingerprint, samples = done.stdout.split()
        assert fingerprint == engine.fingerprint()
        assert samples == self._digests(engine, [request])[request.id]

    def test_seed_is_heard(self, engine: Engine) -> None:
        """Another seed is another take, for engines that draw anything."""
        if self.seed_matters:
            requests = self._requests(engine)[:1]
            other = [self._changed(requests[0], seed=2**64 - 1)]
            assert self._digests(engine, requests) != self._digests(engine, other)

    def test_pulls_lazily(self, engine: Engine) -> None:
        """An engine takes no more requests than it works on, and serves those that come late."""
        pulled = 0
        late = [self._changed(self._requests(engine)[0], id="late")]

        def source() -> Iterator[SpeechRequest]:
            nonlocal pulled
            for number in range(engine.limits.batch + 4):
                pulled += 1
                yield self._changed(self._requests(engine)[0], id=str(number))
            yield from late

        answers = []
        for answered, speech in enumerate(engine.synthesize(source())):
            assert pulled <= answered + engine.limits.batch + 1
            answers.append(speech.id)
        assert sorted(answers) == sorted([*map(str, range(engine.limits.batch + 4)), "late"])

    def test_one_bad_request_harms_no_other(self, engine: Engine) -> None:
        """Each kind of bad request is an error answer, and its neighbours are as ever."""
        good = self._requests(engine)
        bad = [
            self._changed(good[0], id="empty", text=""),
            self._changed(good[0], id="marks", text="?! —"),
            self._changed(good[0], id="long", text="word " * engine.limits.max_characters),
            self._changed(good[0], id="language", language="zz"),
            self._changed(good[0], id="voice", voice="no such voice"),
            self._changed(good[0], id="speed", speed=9.0),
            self._changed(good[0], id="nan", speed=math.nan),
        ]
        mixed = [*itertools.chain(*zip(good, bad, strict=False)), *bad[len(good) :]]
        answers = {speech.id: speech for speech in engine.synthesize(mixed)}
        assert len(answers) == len(mixed)
        for request in bad:
            answer = answers[request.id]
            assert answer.samples is None, request.id
            assert answer.error, request.id
            assert "\n" not in answer.error
        expected = self._digests(engine, good)
        assert {each.id: _sha256(answers[each.id]) for each in good} == expected

    def test_speed(self, engine: Engine) -> None:
        """Half the speed is longer, twice the speed is shorter."""
        base = self._requests(engine)[1]
        lengths = []
        for speed in (0.5, 1.0, 2.0):
            (speech,) = engine.synthesize([self._changed(base, speed=speed)])
            assert speech.samples is not None
            lengths.append(len(speech.samples))
        assert lengths[0] > 1.3 * lengths[1] > 1.3 * 1.3 * lengths[2]

    def test_cancel(self, engine: Engine) -> None:
        """A set event ends the stream after the units in hand."""
        cancel = threading.Event()
        endless = (
            self._changed(self._requests(engine)[0], id=str(number)) for number in itertools.count()
        )
        stream = engine.synthesize(endless, cancel=cancel)
        next(stream)
        cancel.set()
        assert len(list(stream)) <= engine.limits.batch
        assert list(engine.synthesize(self._requests(engine), cancel=cancel)) == []

    def test_nothing_in_nothing_out(self, engine: Engine) -> None:
        """No request, no answer."""
        assert list(engine.synthesize([])) == []

    def _requests(self, engine: Engine) -> list[SpeechRequest]:
        voice = engine.voices()[0]
        return [
            SpeechRequest(
                id=f"unit-{number}",
                text=text,
                language=voice.language,
                voice=voice.name,
                seed=1_000 + number,
            )
            for number, text in enumerate(self.texts)
        ]

    @staticmethod
    def _changed(request: SpeechRequest, **changes: Any) -> SpeechRequest:
        fields = {name: getattr(request, name) for name in SpeechRequest.__slots__}
        return SpeechRequest(**{**fields, **changes})

    @staticmethod
    def _spoken(
        engine: Engine, requests: Sequence[SpeechRequest]
    ) -> list[tuple[SpeechRequest, Speech]]:
        answers = {speech.id: speech for speech in engine.synthesize(requests)}
        assert len(answers) == len(requests)
        return [(request, answers[request.id]) for request in requests]

    @classmethod
    def _digests(cls, engine: Engine, requests: Sequence[SpeechRequest]) -> dict[str, str]:
        return {each.id: _sha256(speech) for each, speech in cls._spoken(engine, requests)}


def _sha256(speech: Speech) -> str:
    assert speech.samples is not None, speech.error
    return hashlib.sha256(speech.samples.tobytes()).hexdigest()
