"""The voices of a book and the engine processes that speak them.

The narrator has an empty name, other voices are called as the profile calls them. Voices of one
engine, with one bundle and the same options, share its processes.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol

from loudr_core.errors import ConfigError
from loudr_core.jobs.casting import CastVoice, Speaker
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.settings import Profile
from loudr_core.speech.orders import Order, Outcome

__all__ = ["CastPools", "OrderPool", "cast_of", "naming_voice"]


class OrderPool(Protocol):
    """What speaking needs of `speech.workers.EnginePool`."""

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order; the future gives its outcome."""
        ...


def cast_of(
    profile: Profile, speakers: Mapping[str, Speaker], policies: Mapping[str, str]
) -> dict[str, CastVoice]:
    """Return the voices beside the narrator's, as a book is planned with them.

    Parameters
    ----------
    speakers : mapping of str to Speaker
        Name to voice; without the narrator's.
    policies : mapping of str to str
        Name to the digest of the detector policy.

    Raises
    ------
    ConfigError
        The text options do not go together for one of them.
    """
    cast = {}
    for name, speaker in speakers.items():
        speed = profile.voice_profile(name).speed
        cast[name] = CastVoice(
            speaker=speaker,
            text=profile.text_options(
                max_characters=speaker.max_characters,
                target_characters=speaker.target_characters,
                name=name,
            ),
            speed=profile.speed if speed is None else speed,
            policy_digest=policies[name],
        )
    return cast


@contextmanager
def naming_voice(name: str) -> Iterator[None]:
    """Say of which voice of the profile a wrong setting is; the narrator has no name."""
    try:
        yield
    except ConfigError as error:
        if not name:
            raise
        raise ConfigError(f"[voices.{name}]: {error.message}", **error.context) from error


class CastPools:
    """Gives each order of a book to the engine processes of its voice.

    Parameters
    ----------
    pools : mapping of str to OrderPool
        Name of a voice to what speaks it, the narrator's included.
    plan : Plan
    jobs : iterable of Job
        Whose orders will come.
    """

    def __init__(self, pools: Mapping[str, OrderPool], plan: Plan, jobs: Iterable[Job]) -> None:
        self._pools = pools
        self._engines = _engines(pools, plan)
        voices = plan.chapter_voices
        self._voice_of = {job.segment_id: voices[job.chapter].name for job in jobs}

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order where its voice is spoken."""
        return self._pools[self._voice_of[order.id]].submit(order)

    def engine_of(self, order: Order) -> str:
        """Return a name for what must be loaded to speak an order; empty where all share one."""
        return self._engines[self._voice_of[order.id]]


def _engines(pools: Mapping[str, OrderPool], plan: Plan) -> dict[str, str]:
    """Return voice to a label of its processes: those of the voices that share them, joined."""
    if len({id(pool) for pool in pools.values()}) == 1:
        return dict.fromkeys(pools, "")
    voices = plan.voices
    sharing: dict[int, list[str]] = {}
    for name, pool in pools.items():
        sharing.setdefault(id(pool), []).append(voices[name].label)
    return {name: ", ".join(dict.fromkeys(sharing[id(pool)])) for name, pool in pools.items()}
