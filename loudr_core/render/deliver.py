"""Write a mastered book to its M4B, and put that where it is wanted."""

import json
import threading
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.reachable import pieces_key
from loudr_core.publish.aac import Encoding, encode_book, pieces_of
from loudr_core.publish.cover import Cover, prepare_cover
from loudr_core.publish.m4b import ChapterMark, M4bSpec, write_m4b
from loudr_core.publish.names import chapter_list, chapters_note
from loudr_core.publish.naming import NameWish, Owner
from loudr_core.publish.tags import Tags
from loudr_core.render.destination import StorePrefix, open_destination
from loudr_core.render.finish import Mastered, MasteredPcm
from loudr_core.render.layout import BookLayout
from loudr_core.render.pcm import BookPcm
from loudr_core.render.result import RenderedFile
from loudr_core.render.results import part_of
from loudr_core.render.speak import Interrupted
from loudr_core.settings import OutputProfile
from loudr_core.store.protocol import ObjectStore

__all__ = ["gap_findings", "name_wish", "write_book"]


def write_book(
    plan: Plan,
    mastered: Mastered,
    *,
    store: ObjectStore,
    output: OutputProfile,
    dest: str | Path | None,
    workers: int,
    chapters: Sequence[int] | None,
    overwrite: bool,
    cancel: threading.Event,
) -> tuple[RenderedFile, tuple[Finding, ...]]:
    """Encode the book and write its M4B.

    The encoded pieces stay in the store, so the same bytes can be written again in seconds.

    Parameters
    ----------
    dest : str, Path or None
        Folder or `s3://` prefix of deliverables; the store gets the file when None.
    workers : int
        Threads that encode.
    chapters : sequence of int, or None
        The chapters that the render is of, when not of all; the file's name says so.
    overwrite : bool
        Replace another book's file of that name.

    Raises
    ------
    PublishError, StoreError
        The file cannot be encoded, written or stored.
    Interrupted
        `cancel` was set.
    """
    layout = mastered.layout
    wish = name_wish(plan, ".m4b", chapters)
    encoding = Encoding(sample_rate_hz=layout.sample_rate_hz, bit_rate=output.bit_rate)
    cover, findings = _cover(plan, store)
    spec = M4bSpec(
        encoding=encoding,
        n_samples=layout.n_samples,
        chapters=[
            ChapterMark(title=chapter.title, start=chapter.start, end=chapter.end)
            for chapter in layout.chapters
        ],
        tags=_tags(plan, layout, wish.owner),
        cover=cover,
    )
    pcm = MasteredPcm(BookPcm(store, layout), mastered)
    cache = _PieceCache(store)
    packets = encode_book(
        pcm,
        pieces_of([chapter.n_samples for chapter in layout.chapters]),
        encoding,
        workers=workers,
        cache=cache,
        identify=pcm.identify,
    )
    packets = _stoppable(packets, cancel)
    place = StorePrefix(store, f"{plan.folder}/out") if dest is None else open_destination(dest)
    delivered = place.deliver(
        wish,
        lambda path, guard: write_m4b(path, packets, spec, guard=guard),
        overwrite=overwrite,
    )
    listed = pieces_key(plan, part_of(chapters))  # so that none of them is ever pruned
    store.put(listed, json.dumps(sorted(cache.used)).encode())
    written = delivered.written
    file = RenderedFile(
        path=delivered.where,
        format="m4b",
        bytes=written.n_bytes,
        sha256=written.sha256,
        duration_s=written.duration_s,
        chapters=len(layout.chapters),
    )
    return file, (*findings, *written.findings, *delivered.findings)


def name_wish(plan: Plan, ending: str, chapters: Sequence[int] | None = None) -> NameWish:
    """Return what the name of a file of a plan is made of.

    Parameters
    ----------
    ending : str
        With its dot.
    chapters : sequence of int, or None
        Those it holds, when not all.
    """
    listed = chapter_list(chapters) if chapters is not None else ""
    return NameWish(
        title=str(plan.metadata["title"]),
        ending=chapters_note(listed) + ending,
        owner=Owner(book_id=plan.book_id, plan_id=plan.plan_id, chapters=listed),
        author=next(iter(plan.metadata["authors"]), ""),
        profile=plan.profile_name,
    )


def gap_findings(layout: BookLayout) -> list[Finding]:
    """Return an error for each segment without audio."""
    return [
        Finding(
            code="render-gap",
            severity="error",
            message=f"no audio: {gap.cause}",
            where={
                "segment_id": gap.segment_id,
                "start_s": round(gap.at_sample / layout.sample_rate_hz, 3),
            },
        )
        for gap in layout.gaps
    ]


class _PieceCache:
    """Encoded pieces in the store, so that a render after a change encodes only what changed."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.used: set[str] = set()

    def get(self, key: str, /) -> bytes | None:
        return self._store.get(self._name(key))

    def put(self, key: str, data: bytes, /) -> None:
        self._store.put(self._name(key), data)

    def _name(self, key: str) -> str:
        name = f"aac/{key[:2]}/{key}"
        self.used.add(name)
        return name


def _stoppable(packets: Iterator[bytes], cancel: threading.Event) -> Iterator[bytes]:
    for packet in packets:
        if cancel.is_set():
            raise Interrupted
        yield packet


def _cover(plan: Plan, store: ObjectStore) -> tuple[Cover | None, list[Finding]]:
    data = store.get(plan.cover_key) if plan.cover_key else None
    return prepare_cover(data) if data else (None, [])


def _tags(plan: Plan, layout: BookLayout, owner: Owner) -> Tags:
    said = plan.metadata
    heard = plan.heard(chapter.number for chapter in layout.chapters)
    names = list(dict.fromkeys(each.voice for each in heard))
    identifiers = said["identifiers"]
    gaps = [
        f"{gap.segment_id} at {gap.at_sample / layout.sample_rate_hz:.1f} s" for gap in layout.gaps
    ]
    return Tags(
        title=said["title"],
        authors=tuple(said["authors"]),
        narrator=f"{', '.join(names)} (synthetic voice{'s' if len(names) > 1 else ''})",
        language=said["language"],
        date=said["date"],
        subtitle=said["subtitle"],
        description=said["description"],
        rights=said["rights"],
        publisher=said["publisher"],
        series=said["series"],
        series_part=said["series_part"],
        isbn=identifiers.get("isbn", ""),
        asin=identifiers.get("asin", ""),
        voices=tuple(dict.fromkeys((each.voice, each.engine) for each in heard)),
        producer=f"loudr {version('loudr')}",
        gaps=tuple(gaps),
        owner=owner,
    )
