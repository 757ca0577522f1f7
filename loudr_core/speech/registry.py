"""From an engine's name to an engine. Nothing is imported before its name is asked for."""

import difflib
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.speech import limits
from loudr_core.speech.bundles import FAMILIES, family_of
from loudr_core.speech.engines import ENGINES, OFFERED
from loudr_core.speech.protocol import Engine, EngineLimits

__all__ = ["ENGINES", "OFFERED", "engine_limits", "open_engine"]

_LIMITS = {
    "embedded": limits.EMBEDDED,
    "loudr1": limits.LOUDR1,
    "koko": limits.KOKO,
    "sanotts": limits.SANOTTS,
    "bluetts": limits.BLUETTS,
    "fake": limits.FAKE,
}


def open_engine(
    name: str, *, bundle: Path | str | None = None, provider: str = "cpu", **options: Any
) -> Engine:
    """Load an engine.

    Parameters
    ----------
    name : str
        A key of `ENGINES`.
    bundle : Path or str, optional
        The model's folder, for engines that have one.
    provider : str
        Where it runs: `cpu`, `cuda`.
    **options
        The engine's own.

    Raises
    ------
    ConfigError
        No engine or option has that name.
    BundleError
        The bundle is missing, damaged, or not wanted.
    DeviceError
        The provider is not there, or a package the engine needs is not installed.
    """
    factory = _factory(name)
    _check_options(name, factory, options)
    folder = Path(bundle) if bundle is not None else None
    try:
        engine: Engine = factory(bundle=folder, provider=provider, **options)
    except BundleError as error:
        if folder is not None and name in FAMILIES and (other := _other_family(folder, name)):
            raise BundleError(
                f"{folder} is a bundle of engine {other!r}, not of {name!r}: {error.message}",
                **{"path": str(folder), **error.context},
            ) from error
        raise
    return engine


def _other_family(folder: Path, name: str) -> str:
    """Return the family that a folder is of, empty when that is `name` or not known."""
    try:
        family = family_of(folder)
    except BundleError:
        return ""
    return "" if family == name else family


def engine_limits(name: str) -> EngineLimits:
    """Return an engine's limits without loading it, to size a pool before one is started.

    Raises
    ------
    ConfigError
        No engine has that name.
    """
    _check_name(name)
    return _LIMITS[name]


def _check_name(name: str) -> None:
    if name not in ENGINES:
        close = difflib.get_close_matches(name, OFFERED, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(OFFERED)}"
        raise ConfigError(f"no engine {name!r}: {hint}", engine=name)


def _factory(name: str) -> Callable[..., Engine]:
    _check_name(name)
    module, _, attribute = ENGINES[name].partition(":")
    try:
        factory: Callable[..., Engine] = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise DeviceError(
            f"engine {name!r} cannot be imported ({error}): install loudr with its dependencies",
            engine=name,
        ) from error
    return factory


def _check_options(name: str, factory: Callable[..., Engine], options: dict[str, Any]) -> None:
    known = [key for key in inspect.signature(factory).parameters if key not in _SHARED]
    for option in options:
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none'}"
            )
            raise ConfigError(f"engine {name!r} has no option {option!r}: {hint}", engine=name)


_SHARED = frozenset({"bundle", "provider"})
