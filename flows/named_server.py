"""The Prefect server that `PREFECT_API_URL` names: whether it is there, and what it says no to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from flows.execution.local import require_server
from loudr_core.errors import DeviceError

__all__ = ["asking_server", "reach_server"]


def reach_server(url: str, *, otherwise: str) -> None:
    """Ask the server whether it is there.

    Parameters
    ----------
    otherwise : str
        What else a person may do when it does not answer.

    Raises
    ------
    DeviceError
        Nothing answers.
    """
    try:
        require_server(url)
    except DeviceError as error:
        said = error.message.partition(": start it")[0]
        raise DeviceError(f"{said}: start it, or {otherwise}", url=url) from None


@contextmanager
def asking_server() -> Iterator[None]:
    """Turn what the server refuses, and its silence, into one line.

    Raises
    ------
    DeviceError
        It refused, or does not answer any more.
    """
    import httpx
    from prefect.deployments.runner import DeploymentApplyError
    from prefect.exceptions import PrefectException

    try:
        yield
    except (httpx.HTTPError, PrefectException, DeploymentApplyError) as error:
        url = os.environ.get("PREFECT_API_URL", "")
        said = " ".join(str(error).split()) or type(error).__name__
        raise DeviceError(f"the Prefect server at {url} refused: {said}", url=url) from error
