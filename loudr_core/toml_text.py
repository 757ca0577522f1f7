"""TOML from anywhere: what is wrong with it is one error, however it is wrong."""

import tomllib
from typing import Any

__all__ = ["parse_toml"]


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is none, or its lists are nested deeper than the standard parser goes, which would else
        be a `RecursionError` and look like a bug.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
