"""What parent and engine process say to each other: JSON lines, one message each.

Parent to child: one `start`, then `order`s. Child to parent: `ready` or `refused` once, then for
each order `spoken` when the engine is done with it and `done` when it is stored, or `error` when
the store and not the engine failed; `waiting` while it is the store that it waits for. Seeds are
decimal strings.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from loudr_core import errors
from loudr_core.errors import LoudrError, SynthesisError
from loudr_core.findings import Finding
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.speech.orders import Attempt, Choice, Order, Outcome, TakeResult
from loudr_core.speech.protocol import EngineLimits, VoiceInfo

__all__ = [
    "EngineInfo",
    "EngineSpec",
    "decode",
    "encode",
    "error_from_json",
    "error_to_json",
    "info_from_json",
    "info_to_json",
    "order_from_json",
    "order_to_json",
    "outcome_from_json",
    "outcome_to_json",
    "result_from_json",
    "result_to_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """Which engine a process is to load, and what it is to do with the takes.

    Parameters
    ----------
    engine : str
        A name of the registry.
    store_url : str
        Where takes and choices go; an absolute path, or a URL that any process can open.
    policy : mapping
        Fields of `DetectorPolicy.as_dict()`; those left out have their defaults, and the band of
        seconds per character is then the engine's own.
    bundle : str, optional
        Absolute path of the model's folder.
    provider : str
    options : mapping
        The engine's own, of JSON values.
    """

    engine: str
    store_url: str
    policy: Mapping[str, Any]
    bundle: str | None = None
    provider: str = "cpu"
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "policy": dict(self.policy), "options": dict(self.options)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What a parent knows of an engine it has not loaded itself."""

    name: str
    fingerprint: str
    """The engine's own, and the rule by which edges are trimmed: what a take depends on."""
    sample_rate_hz: int
    limits: EngineLimits
    voices: tuple[VoiceInfo, ...]

    def voice(self, name: str) -> VoiceInfo:
        """Return the voice of that name.

        Raises
        ------
        ConfigError
            There is none.
        """
        for voice in self.voices:
            if voice.name == name:
                return voice
        raise errors.ConfigError(
            f"engine {self.name!r} has no voice {name!r}: it has {self._voices_shown()}",
            voice=name,
        )

    def _voices_shown(self) -> str:
        names = [voice.name for voice in self.voices]
        if len(names) <= _MOST_VOICES:
            return ", ".join(names)
        return f"{len(names)}, {names[0]} to {names[-1]}, which `loudr voices` lists"


_MOST_VOICES = 12
"""That an error names one by one."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Return one line; newlines inside are escaped by JSON."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the message of a line.

    Raises
    ------
    ValueError
        The line holds no JSON object.
    """
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError(f"not a message: {line[:80]!r}")
    return message


def order_to_json(order: Order) -> dict[str, Any]:
    """Return an order's JSON form."""
    attempts = [
        {"number": each.number, "seed": str(each.seed), "take_key": each.take_key}
        for each in order.attempts
    ]
    return {**_shallow(order), "attempts": attempts}


def order_from_json(data: Mapping[str, Any]) -> Order:
    """Return the order whose JSON form is `data`."""
    attempts = tuple(Attempt(**{**each, "seed": int(each["seed"])}) for each in data["attempts"])
    return Order(**{**data, "attempts": attempts})


def result_to_json(result: TakeResult) -> dict[str, Any]:
    """Return a result row's JSON form."""
    return {
        **_shallow(result),
        "seed": str(result.seed),
        "findings": [finding.as_dict() for finding in result.findings],
    }


def result_from_json(data: Mapping[str, Any]) -> TakeResult:
    """Return the result row whose JSON form is `data`."""
    findings = tuple(Finding.from_dict(each) for each in data["findings"])
    return TakeResult(**{**data, "seed": int(data["seed"]), "findings": findings})


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome's JSON form."""
    return {
        "id": outcome.id,
        "job_key": outcome.job_key,
        "choice": outcome.choice.as_dict(),
        "rendered": outcome.rendered,
        "reused": outcome.reused,
        "results": [result_to_json(result) for result in outcome.results],
    }


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Return the outcome whose JSON form is `data`."""
    return Outcome(
        **{
            **data,
            "choice": Choice.from_dict(data["choice"]),
            "results": tuple(result_from_json(each) for each in data["results"]),
        }
    )


def info_to_json(info: EngineInfo) -> dict[str, Any]:
    """Return an engine description's JSON form."""
    given = info.limits.phonemes
    limits = {
        **asdict(info.limits),
        "languages": sorted(info.limits.languages),
        "unread": sorted(info.limits.unread),
        "phonemes": None if given is None else given.as_dict(),
        "alphabet": None if info.limits.alphabet is None else sorted(info.limits.alphabet),
    }
    return {**asdict(info), "limits": limits, "voices": [asdict(voice) for voice in info.voices]}


def info_from_json(data: Mapping[str, Any]) -> EngineInfo:
    """Return the engine description whose JSON form is `data`."""
    limits = dict(data["limits"])
    low, high = limits.pop("seconds_per_character")
    languages = frozenset(limits.pop("languages"))
    unread = frozenset(limits.pop("unread", ()))
    given = limits.pop("phonemes", None)
    alphabet = limits.pop("alphabet", None)
    slowest, quickest = limits.pop("speeds", (0.5, 2.0))
    return EngineInfo(
        **{
            **data,
            "limits": EngineLimits(
                **limits,
                languages=languages,
                unread=unread,
                seconds_per_character=(low, high),
                speeds=(slowest, quickest),
                phonemes=None if given is None else GivenPhonemes.from_dict(given),
                alphabet=None if alphabet is None else frozenset(alphabet),
            ),
            "voices": tuple(VoiceInfo(**voice) for voice in data["voices"]),
        }
    )


def error_to_json(error: LoudrError) -> dict[str, Any]:
    """Return the class name, message and context; what JSON cannot hold of these becomes text."""
    context = json.loads(json.dumps(error.context, default=str))
    return {"class": type(error).__name__, "message": error.message, "context": context}


def error_from_json(data: Mapping[str, Any]) -> LoudrError:
    """Return the error as the class it had in the child."""
    cls = getattr(errors, str(data["class"]), SynthesisError)
    if not (isinstance(cls, type) and issubclass(cls, LoudrError)):
        cls = SynthesisError
    return cls(str(data["message"]), **dict(data["context"]))


def _shallow(value: Order | TakeResult) -> dict[str, Any]:
    """Return the fields as they are: `asdict` copies each as deep as it goes, for every segment."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
