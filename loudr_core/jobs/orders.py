"""From jobs to orders: the attempts a worker may make, and where their takes and choice go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loudr_core.jobs.casting import PlanVoice
from loudr_core.jobs.keys import attempt_seed, choice_key, override_key, take_key
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Attempt, Order

__all__ = ["Shard", "cut_shards", "make_orders", "override_keys"]

_SHARDS_PER_WORKER = 4
_SHARD_AUDIO_S = (600.0, 18_000.0)
_MOST_SHARDS = 150


def make_orders(
    plan: Plan,
    jobs: Sequence[Job],
    *,
    policy_digest: str | Mapping[str, str],
    attempts: int,
    overrides: Mapping[str, int] | None = None,
) -> list[Order]:
    """Return one order per job, in the order of the book.

    Equal words in one voice have one job key, so their orders name the same takes and choice.

    Parameters
    ----------
    policy_digest : str, or mapping of str to str
        Of the detector policy, or of the one for each voice by its name; part of the choice's key.
    attempts : int
        Takes that may be made of one segment.
    overrides : mapping of str to int, optional
        Segment id to a seed given by hand, which takes the place of the planned one.
    """
    chosen = overrides or {}
    voices = plan.chapter_voices
    return [
        _order(
            voices[job.chapter],
            job,
            chosen.get(job.segment_id, job.seed),
            policy_digest
            if isinstance(policy_digest, str)
            else policy_digest[voices[job.chapter].name],
            attempts,
        )
        for job in jobs
    ]


def override_keys(jobs: Sequence[Job]) -> dict[str, str]:
    """Return segment id to the name under which its hand-given seed is kept."""
    spoken = ["", *(job.spoken for job in jobs), ""]
    return {
        job.segment_id: override_key(job.spoken, job.voice, spoken[place], spoken[place + 2])
        for place, job in enumerate(jobs)
    }


def _order(voice: PlanVoice, job: Job, seed: int, policy_digest: str, attempts: int) -> Order:
    def key(effective_seed: int) -> str:
        return take_key(
            fingerprint=voice.fingerprint,
            voice_sha256=voice.voice_sha256,
            language=job.language,
            spoken=job.spoken,
            phonemes=job.phonemes,
            seed=effective_seed,
            speed=voice.speed,
        )

    name = job.job_key if seed == job.seed else key(seed)
    seeds = [attempt_seed(seed, number) for number in range(attempts)]
    return Order(
        id=job.segment_id,
        job_key=name,
        choice_key=choice_key(name, policy_digest),
        text=job.spoken,
        language=job.language,
        voice=job.voice,
        attempts=tuple(
            Attempt(number=number, seed=each, take_key=key(each))
            for number, each in enumerate(seeds)
        ),
        speed=voice.speed,
        phonemes=job.phonemes,
        est_audio_s=job.est_audio_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A stretch of the book that one render task looks after."""

    number: int
    orders: tuple[Order, ...]

    @property
    def label(self) -> str:
        """What a person reads in a list of runs: `c001-s0001..c001-s0042`."""
        return f"{self.orders[0].id}..{self.orders[-1].id}"


def cut_shards(
    orders: Sequence[Order],
    *,
    workers: int,
    canary: int = 0,
    audio_s: tuple[float, float] = _SHARD_AUDIO_S,
    engine_of: Callable[[Order], str] = lambda order: "",
) -> list[Shard]:
    """Return the orders cut into shards of about a quarter of a worker's share.

    A shard is of one engine: whoever speaks it loads one. Engines follow one another in the order
    in which the book needs them, and what is of one engine is in book order.

    Parameters
    ----------
    workers : int
        Engine processes that will share the work.
    canary : int
        Orders of an engine's first shard, which is small so that a bad set-up shows early.
    audio_s : tuple of float
        Seconds of audio, as estimated, of the smallest and the largest shard.
    engine_of : callable
        A name for what must be loaded to speak an order.
    """
    total = sum(order.est_audio_s for order in orders)
    share = total / (workers * _SHARDS_PER_WORKER)
    size = max(min(max(share, audio_s[0]), audio_s[1]), total / _MOST_SHARDS)
    by_engine: dict[str, list[Order]] = {}
    for order in orders:
        by_engine.setdefault(engine_of(order), []).append(order)
    cuts: list[list[Order]] = []
    for own in by_engine.values():
        cuts.append([])
        filled = 0.0
        for place, order in enumerate(own):
            full = place == canary if canary and place <= canary else filled >= size
            if full and cuts[-1]:
                cuts.append([])
                filled = 0.0
            cuts[-1].append(order)
            filled += order.est_audio_s
    return [Shard(number=n, orders=tuple(cut)) for n, cut in enumerate(cuts) if cut]
