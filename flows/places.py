"""Where paths start that a person writes into a form."""

from pathlib import Path

from prefect import runtime

from loudr_core.errors import ConfigError

__all__ = ["refuse_relative"]


def refuse_relative(**places: str | None) -> None:
    """Refuse relative paths in the run of a deployment, which works in a folder of its own.

    Parameters
    ----------
    **places
        Paths and URLs, under the name that a person knows; None for one that was not given.

    Raises
    ------
    ConfigError
        A path is relative, and this is such a run.
    """
    for name, place in places.items():
        if place is None or "://" in place or Path(place).expanduser().is_absolute():
            continue
        if runtime.deployment.id:
            raise ConfigError(
                f"{name} {place!r} is a relative path: a run works in a folder of its own, so give "
                "an absolute one, or an s3:// URL",
                path=place,
            )
