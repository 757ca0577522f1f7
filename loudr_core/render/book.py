"""One book on its way from a file to an audiobook: every stage, in order, each resumable.

`flows` runs the stages as Prefect tasks; a notebook may call them one after the other. Every stage
finds its output by a content key and skips what is there, so a stage run again does no work twice.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from loudr_core.audio.loudness import LoudnessState
from loudr_core.audio.resample import resampler_build
from loudr_core.errors import StoreError
from loudr_core.findings import Finding
from loudr_core.jobs.choices import pcm_digest
from loudr_core.jobs.orders import Shard, cut_shards, make_orders
from loudr_core.jobs.overrides import read_overrides
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.render.casting import CastPools, OrderPool
from loudr_core.render.deliver import gap_findings, write_book
from loudr_core.render.finish import Mastered, master_book, refuse_gaps, refuse_unreadable
from loudr_core.render.layout import ChapterLayout, layout_book, layout_chapter
from loudr_core.render.measure import measure_chapter
from loudr_core.render.options import RenderOptions
from loudr_core.render.planning import (
    StoredPlan,
    chapters_wanted,
    open_plan,
    policy_of,
)
from loudr_core.render.progress import Progress
from loudr_core.render.result import RenderedFile, RenderResult, SegmentCounts, voice_rows
from loudr_core.render.results import file_result, part_of
from loudr_core.render.rows import add_missing_rows
from loudr_core.render.speak import (
    CANARY_SEGMENTS,
    Interrupted,
    ShardResult,
    Speaking,
)
from loudr_core.settings import Profile
from loudr_core.speech.orders import Choice, Order
from loudr_core.speech.wire import EngineInfo
from loudr_core.store.protocol import ObjectStore

__all__ = ["BookRender", "EnginePoolLike", "RenderOptions"]

logger = logging.getLogger(__name__)

_POLL_S = 0.2


class EnginePoolLike(OrderPool, Protocol):
    """What a render needs of the engine processes."""

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        """Return what the engine is, once a process has loaded it; TimeoutError before that."""
        ...


class BookRender:
    """The stages of one book.

    Parameters
    ----------
    source : Path or StoredPlan
        The EPUB, Markdown or text file, or a plan that was made of one.
    profile : Profile
        For a stored plan, what the plan holds.
    store : ObjectStore
    pool : EnginePoolLike
        Started; may be shared by several books.
    options : RenderOptions
    cancel : threading.Event
        Set to stop: stages then raise `Interrupted`.
    cast : mapping of str to EnginePoolLike, optional
        For each voice of the profile beside the narrator's, by its name, what speaks it.
    """

    def __init__(
        self,
        source: Path | StoredPlan,
        *,
        profile: Profile,
        store: ObjectStore,
        pool: EnginePoolLike,
        options: RenderOptions,
        cancel: threading.Event,
        cast: Mapping[str, EnginePoolLike] | None = None,
    ) -> None:
        self.source = source
        self.profile = profile
        self.store = store
        self.options = options
        self.cancel = cancel
        self.progress = Progress()
        self.stage_s: dict[str, float] = {}
        self._pools: dict[str, EnginePoolLike] = {"": pool, **(cast or {})}
        self._lock = threading.RLock()
        self._planned: _Planned | None = None
        self._mastered: Mastered | None = None
        self._opened = time.monotonic()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the wall seconds of the block to `stage_s[stage]`."""
        started = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                spent = time.monotonic() - started
                self.stage_s[stage] = self.stage_s.get(stage, 0.0) + spent

    @property
    def label(self) -> str:
        """What people know the book by before it is planned."""
        return self.source.stem if isinstance(self.source, Path) else self.source.book_id

    # --- plan

    def plan(self) -> Plan:
        """Read, segment and audit the book, or find its stored plan; a second call returns it.

        Raises
        ------
        BookError
            The book cannot be read or narrated, or its plan would lose a word.
        ConfigError
            The voice, a detector or a chapter number is not there.
        StoreError
            A stored plan is damaged or gone.
        """
        with self._lock:
            if self._planned is None:
                with self.timed("plan"):
                    self._planned = self._make_plan()
            return self._planned.plan

    def _make_plan(self) -> "_Planned":
        self.profile.cast_rules()  # what cannot be meant is known before an engine is loaded
        infos = {name: self._engine_info(pool) for name, pool in self._pools.items()}
        info = infos.pop("")
        plan, every = open_plan(
            self.source,
            profile=self.profile,
            profile_name=self.options.profile_name,
            about=self.options.about,
            info=info,
            cast=infos,
            store=self.store,
            replan=self.options.replan,
        )
        chapters = chapters_wanted(plan, self.options.chapters)
        jobs = every if chapters is None else [job for job in every if job.chapter in chapters]
        orders = make_orders(
            plan,
            jobs,
            policy_digest={
                name: policy_of(self.profile, each).digest()
                for name, each in {"": info, **infos}.items()
            },
            attempts=self.profile.attempts,
            overrides=read_overrides(self.store, plan, every),
        )
        pools = CastPools(self._pools, plan, jobs)
        speaking = Speaking(
            plan,
            orders,
            store=self.store,
            pool=pools,
            progress=self.progress,
            cancel=self.cancel,
            engine_of=pools.engine_of,
        )
        shards = cut_shards(
            orders,
            workers=self.options.workers,
            canary=CANARY_SEGMENTS,
            engine_of=pools.engine_of,
        )
        return _Planned(
            plan=plan,
            chapters=None if chapters is None else tuple(sorted(chapters)),
            jobs=jobs,
            orders=orders,
            speaking=speaking,
            shards=shards,
        )

    def _engine_info(self, pool: EnginePoolLike) -> EngineInfo:
        """Wait for an engine, which takes minutes to load at worst, unless stopped."""
        while not self.cancel.is_set():
            try:
                return pool.info(_POLL_S)
            except TimeoutError:
                continue
        raise Interrupted

    # --- speak

    def start_speaking(self) -> None:
        """Give the missing segments to the engine processes, and return at once.

        Raises
        ------
        QualityError
            The voice cannot read a segment, and gaps are not allowed.
        """
        planned = self._need()
        if not self.options.allow_gaps:
            refuse_unreadable(planned.plan, [job.segment_id for job in planned.jobs])
        planned.speaking.start()

    def speak(self, shard: Shard) -> ShardResult:
        """Return when the shard's segments are finished."""
        with self.timed("speak"):
            return self._need().speaking.speak(shard)

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards of the plan, engine by engine, in book order."""
        return self._need().shards

    def last_shards(self) -> dict[int, int]:
        """Return chapter number to the number of the shard that ends the chapter."""
        chapter_of = {job.segment_id: job.chapter for job in self.jobs}
        return {
            chapter_of[order.id]: shard.number for shard in self.shards for order in shard.orders
        }

    @property
    def jobs(self) -> Sequence[Job]:
        """The segments that are wanted, in book order."""
        return self._need().jobs

    @property
    def orders(self) -> Sequence[Order]:
        """One order for each of `jobs`."""
        return self._need().orders

    @property
    def choices(self) -> Mapping[str, Choice]:
        """Job key to choice, for what is finished."""
        return self._need().speaking.choices

    @property
    def found(self) -> frozenset[str]:
        """Job keys of what was finished when the orders were given out."""
        return self._need().speaking.found

    # --- assemble

    def measure(self, number: int) -> LoudnessState:
        """Wait until a chapter is spoken and return its loudness before any gain."""
        planned = self._need()
        rows = [
            (job, order)
            for job, order in zip(planned.jobs, planned.orders, strict=True)
            if job.chapter == number
        ]
        planned.speaking.wait_for([order for _, order in rows])
        choices = self.choices
        chapter = next(each for each in planned.plan.chapters if each.number == number)
        with self.timed("measure"):
            layout, _ = layout_chapter(
                chapter,
                [(job, choices.get(order.job_key)) for job, order in rows],
                sample_rate_hz=planned.plan.sample_rate_hz,
                lead_in_ms=self._lead_in_ms if number == planned.jobs[0].chapter else 0,
            )
            return self._measured(layout)

    def _measured(self, layout: ChapterLayout) -> LoudnessState:
        return measure_chapter(self.store, layout, sample_rate_hz=self._need().plan.sample_rate_hz)

    @property
    def _lead_in_ms(self) -> int:
        return self.profile.output.lead_in_ms

    def master(self) -> Mastered:
        """Lay the book out and choose its gain.

        Raises
        ------
        QualityError
            A segment has no audio and gaps are not allowed.
        """
        planned = self._need()
        planned.speaking.wait_for(planned.orders)
        with self._lock:
            if self._mastered is None:
                with self.timed("master"):
                    layout = layout_book(
                        planned.plan,
                        planned.jobs,
                        planned.orders,
                        self.choices,
                        lead_in_ms=self._lead_in_ms,
                    )
                    if not self.options.allow_gaps:
                        refuse_gaps(layout, plan=planned.plan)
                    self._mastered = master_book(
                        planned.plan,
                        layout,
                        self._measured,
                        self.store,
                        self.profile.loudness,
                        part=part_of(planned.chapters),
                    )
            return self._mastered

    # --- publish

    def publish(self, dest: str | Path | None) -> RenderResult:
        """Write the M4B, deliver it to a folder or a bucket, and file the result in the store.

        Raises
        ------
        PublishError, StoreError
            The file cannot be encoded or written.
        """
        planned, mastered = self._need(), self.master()
        with self.timed("publish"):
            file, said = write_book(
                planned.plan,
                mastered,
                store=self.store,
                output=self.profile.output,
                dest=dest,
                workers=self.options.workers,
                chapters=planned.chapters,
                overwrite=self.options.overwrite,
                cancel=self.cancel,
            )
        choices = self.choices
        add_missing_rows(self.store, planned.plan, planned.speaking.unfiled, choices)
        chosen = [choices[o.job_key] for o in planned.orders if o.job_key in choices]
        result = self._result(planned.plan, mastered, chosen, file, said)
        # A folder is found again from anywhere; a URL is as it was given.
        kept = None if dest is None else str(dest)
        if kept is not None and "://" not in kept:
            kept = str(Path(kept).expanduser().absolute())
        file_result(self.store, planned.plan, result, mastered, dest=kept)
        return result

    def _result(
        self,
        plan: Plan,
        mastered: Mastered,
        chosen: Sequence[Choice],
        file: RenderedFile,
        said: Sequence[Finding],
    ) -> RenderResult:
        counts = self.progress.now()
        wall = time.monotonic() - self._opened
        audio_s = file.duration_s if counts.rendered == counts.total else counts.audio_s
        orders = {order.job_key: order.id for order in self.orders}
        findings = [
            replace(finding, where={"segment_id": orders[choice.job_key], **finding.where})
            for choice in {choice.job_key: choice for choice in chosen}.values()
            for finding in choice.findings
            if finding.severity != "info"
        ]
        return RenderResult(
            book_id=plan.book_id,
            plan_id=plan.plan_id,
            files=(file,),
            segments=SegmentCounts(
                total=counts.total,
                rendered=counts.rendered,
                reused=counts.reused,
                retried=counts.retried,
                failed=counts.failed,
            ),
            pcm_sha256=pcm_digest(chosen),
            loudness=mastered.loudness(),
            rtf=wall / audio_s if audio_s else 0.0,
            wall_s=wall,
            findings=(*findings, *gap_findings(mastered.layout), *said),
            stage_s={name: round(value, 3) for name, value in self.stage_s.items()},
            chapters=self._need().chapters,
            voices=voice_rows(plan, [chapter.number for chapter in mastered.layout.chapters]),
            sample_rate_hz=mastered.layout.sample_rate_hz,
            resampler=resampler_build() if mastered.layout.resampled else "",
        )

    def _need(self) -> "_Planned":
        self.plan()
        if self._planned is None:  # plan() has set it or raised
            raise StoreError(f"{self.label} has no plan")
        return self._planned


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    plan: Plan
    chapters: tuple[int, ...] | None
    jobs: Sequence[Job]
    orders: Sequence[Order]
    speaking: Speaking
    shards: Sequence[Shard]
