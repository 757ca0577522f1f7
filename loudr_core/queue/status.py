"""The word beside a dropped book: `novel.epub.status.json`, for whoever dropped it."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from loudr_core.errors import StoreError
from loudr_core.queue.watch import Ticket, status_key
from loudr_core.store.protocol import ObjectStore

__all__ = ["Outcome", "State", "write_status"]

State = Literal["queued", "done", "failed", "refused", "superseded"]
"""`refused`: the book or its sidecar cannot be rendered as it is. `failed`: it may be another
day. `superseded`: another version came before this one was begun."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a book.

    Parameters
    ----------
    reason : str
        One line; empty when done.
    result : mapping
        `book_id`, `plan_id`, `files` and more of a finished render.
    """

    state: State
    reason: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form, without what is empty."""
        said = {"state": self.state, "reason": self.reason, **self.result}
        return {key: value for key, value in said.items() if value != ""}


def write_status(store: ObjectStore, ticket: Ticket, outcome: Outcome) -> None:
    """Put the status object beside a book; where that is not allowed, say so in the log.

    The ledger has the same word, so nothing depends on this one.
    """
    document = {
        "book": ticket.place,
        **outcome.as_dict(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "ledger_id": ticket.id,
    }
    data = json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"
    try:
        store.put(status_key(ticket.key), data)
    except StoreError as error:
        logger.warning("no status beside %s: %s", ticket.place, error.message)
