"""Ask a worker of a pool what its engine is, for a render that cannot load the engine itself."""

import contextlib
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from flows.execution.campaign import Campaign
from loudr_core.errors import LoudrError
from loudr_core.render.reconcile import ShardStanding
from loudr_core.render.shard_files import Entry, clear_shards
from loudr_core.speech.wire import EngineInfo

if TYPE_CHECKING:
    from flows.execution.pool import ShardPool

__all__ = ["Description"]


class Description:
    """A shard with one thing missing, and no book.

    Parameters
    ----------
    pool : ShardPool
    folder : str
        Store prefix of what is known of the engine.
    name : str
        Of a voice that has the engine.
    """

    def __init__(self, pool: "ShardPool", folder: str, name: str) -> None:
        self._pool, self._folder = pool, folder
        self._info: EngineInfo | None = None
        self._campaign = Campaign(
            pool.store,
            folder,
            owner=pool.owner,
            runs=pool.runs,
            terms=pool.terms,
            request=lambda shard: pool.request(shard, None, name),
            listener=self,
        )
        self._campaign.board.shards[0] = ShardStanding(number=0, missing={"description": 0.0})

    def wait(self, stop: threading.Event) -> EngineInfo:
        """Return what the first worker that loads the engine says of it.

        Raises
        ------
        LoudrError
            No worker can load it, or store or server did not answer for too long.
        CancelledError
            `stop` was set.
        """
        try:
            while not stop.is_set():
                self._campaign.round()
                if self._info is not None:
                    return self._info
                stop.wait(self._pool.terms.poll_s)
        finally:
            self._campaign.end()
            with contextlib.suppress(LoudrError):
                clear_shards(self._pool.store, self._folder, self._pool.owner)
        raise CancelledError

    def hear(self, entry: Entry) -> None:
        """Take the description that our run has written."""
        if entry.info is not None and entry.owner == self._pool.owner:
            self._info = entry.info
            self._campaign.board.shards[0].missing.clear()

    def confirm(self, shard: ShardStanding) -> None:
        """Nothing but the journal says it."""

    def give_up(self, shard: ShardStanding, error: LoudrError) -> None:
        """Nobody else waits: raise the error."""
        raise error
