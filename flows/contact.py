"""Whether the Prefect server still answers: its records are for people, and no book waits for them.

A render goes on when its server is gone. What would only be shown there is left out as long as
nobody answers, and that is said once for each outage.
"""

import logging
import os
import threading
import urllib.error
import urllib.request

__all__ = ["answers", "comes_from_server", "quieten"]

logger = logging.getLogger(__name__)

_ASK_S = 5.0
_TALKERS = (
    "prefect.events.clients",
    "prefect._internal.concurrency",
    "prefect.FlowRunCancellingObserver",
)
"""What repeats itself, with tracebacks, for every message that a lost server does not take."""
_THEIRS = frozenset({"httpx", "httpcore", "prefect"})

_guard = threading.Lock()
_lost: set[str] = set()


def answers() -> bool:
    """Ask the server at `PREFECT_API_URL` for a sign of life; True where there is none to ask."""
    url = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not url:
        return True
    try:
        urllib.request.urlopen(f"{url}/health", timeout=_ASK_S).close()
    except urllib.error.HTTPError as error:
        error.close()  # it answers, if only to those whom it knows
    except (OSError, ValueError) as error:
        _note_lost(url, " ".join(str(getattr(error, "reason", None) or error).split()))
        return False
    with _guard:
        _lost.discard(url)
    return True


def comes_from_server(error: BaseException) -> bool:
    """Say whether an error, or what led to it, is Prefect's: none of those is about the book."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup) and any(map(comes_from_server, cause.exceptions)):
            return True
        if type(cause).__name__ == "CancelledRun":  # somebody's wish, and no loss
            return False
        if type(cause).__module__.partition(".")[0] in _THEIRS:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def quieten() -> None:
    """Have one line said of a server that is gone, in place of what Prefect says again and again.

    For commands, whose standard error is read by a person; call it when Prefect is imported.
    """
    for name in _TALKERS:
        found = logging.getLogger(name)
        if not any(isinstance(each, _WhileItAnswers) for each in found.filters):
            found.addFilter(_WhileItAnswers())
    # Log records that do not reach the server are reported by a bare print, but for this.
    logging.raiseExceptions = False


class _WhileItAnswers(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if os.environ.get("PREFECT_API_URL"):
            return answers()
        return not _lost  # a command takes the address back before Prefect says its last


def _note_lost(url: str, reason: str) -> None:
    with _guard:
        known = url in _lost
        _lost.add(url)
    if not known:
        logger.warning(
            "the Prefect server at %s does not answer (%s): the book goes on without it, and its "
            "records of this run stay incomplete",
            url,
            reason,
        )
