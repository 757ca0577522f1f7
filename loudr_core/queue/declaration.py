"""The small TOML files that people put beside books or among manifests, read with suspicion."""

import tomllib
from typing import Any, Final

from loudr_core.errors import ConfigError
from loudr_core.toml_text import parse_toml

__all__ = ["MAX_BYTES", "read_declaration", "refuse_large"]

MAX_BYTES: Final = 256 * 1024
"""More than any person writes; what is larger is not read at all."""


def refuse_large(n_bytes: int, *, name: str, kind: str) -> None:
    """Refuse a file that no person wrote as a declaration, before it is read.

    Parameters
    ----------
    name : str
        What to call it in messages.
    kind : str
        `manifest` or `sidecar`.

    Raises
    ------
    ConfigError
        It is too large.
    """
    if n_bytes > MAX_BYTES:
        raise ConfigError(f"{name}: {n_bytes} bytes are more than a {kind} needs", path=name)


def read_declaration(data: bytes, *, name: str, kind: str) -> dict[str, Any]:
    """Return the tables of such a file.

    Raises
    ------
    ConfigError
        It is too large, or not TOML in UTF-8.
    """
    refuse_large(len(data), name=name, kind=kind)
    try:
        return parse_toml(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{name} is not TOML: {error}", path=name) from error
