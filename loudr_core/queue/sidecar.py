"""How a dropped book is to be read: `novel.epub.toml` beside it.

    profile = "acx"                 # a shipped one
    voice = "nova"
    chapters = "1-3"
    allow_gaps = true
    [lexicon]
    Cirencester = "sissister"

Whoever may drop a book is not the operator: a sidecar chooses how a book sounds, not which model
is loaded, what is read of this machine's disk, or where the result goes.
"""

from dataclasses import dataclass, field
from typing import Any

from loudr_core.errors import ConfigError
from loudr_core.queue.declaration import read_declaration

__all__ = ["Sidecar", "read_sidecar"]

_SETTINGS = (
    "voice", "speed", "book_seed", "text", "pauses", "detectors", "loudness", "output", "lexicon",
    "pronunciations",
)  # fmt: skip
_OWN = ("profile", "chapters", "allow_gaps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What a sidecar says.

    Parameters
    ----------
    profile : str or None
        Name of a shipped profile.
    chapters : str
        Such as `1-3,7`; empty for all.
    settings : dict
        Of `Profile`, laid over the profile; not checked yet.
    """

    profile: str | None = None
    chapters: str = ""
    allow_gaps: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


def read_sidecar(data: bytes | None, *, name: str) -> Sidecar:
    """Return what a sidecar says; everything as it is when there is none.

    Parameters
    ----------
    name : str
        What to call it in messages.

    Raises
    ------
    ConfigError
        It is not TOML, or says something that a sidecar does not decide.
    """
    if data is None:
        return Sidecar()
    said = read_declaration(data, name=name, kind="sidecar")
    unknown = sorted(said.keys() - {*_SETTINGS, *_OWN})
    if unknown:
        raise ConfigError(
            f"{name}: {unknown[0]} is not for a sidecar to decide; it may hold "
            f"{', '.join((*_OWN, *_SETTINGS))}",
            path=name,
        )
    return Sidecar(
        profile=_typed(said, "profile", str, None, name),
        chapters=_typed(said, "chapters", str, "", name),
        allow_gaps=_typed(said, "allow_gaps", bool, False, name),
        settings={key: said[key] for key in _SETTINGS if key in said},
    )


def _typed(said: dict[str, Any], key: str, kind: type, default: Any, name: str) -> Any:
    value = said.get(key, default)
    if value is not default and type(value) is not kind:
        word = "text" if kind is str else "true or false"
        raise ConfigError(f"{name}: {key} = {value!r} is not {word}", path=name)
    return value
