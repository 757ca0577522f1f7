"""The loudness of a book, chapter by chapter, each measured once and kept in the store."""

from collections.abc import Iterator

from loudr_core.arrays import Mono
from loudr_core.audio.loudness import LoudnessState, measure
from loudr_core.errors import StoreError
from loudr_core.render.layout import BookLayout, ChapterLayout
from loudr_core.render.pcm import BookPcm
from loudr_core.store.protocol import ObjectStore

__all__ = ["measure_chapter"]

_BLOCK_S = 10


def measure_chapter(
    store: ObjectStore, chapter: ChapterLayout, *, sample_rate_hz: int
) -> LoudnessState:
    """Return what a meter remembers of a chapter before any gain.

    Raises
    ------
    StoreError
        A take is missing or damaged.
    """
    name = chapter.digest()
    key = f"loudness/{name[:2]}/{name}.npz"
    # Silence alone does not say of which rate it is, and is quickly measured.
    kept = store.get(key) if chapter.takes else None
    if kept is not None:
        try:
            return LoudnessState.from_bytes(kept)
        except StoreError:
            store.delete(key)
    state = measure(_blocks(store, chapter, sample_rate_hz), sample_rate_hz)
    store.put(key, state.to_bytes())
    return state


def _blocks(store: ObjectStore, chapter: ChapterLayout, sample_rate_hz: int) -> Iterator[Mono]:
    alone = BookLayout(sample_rate_hz=sample_rate_hz, chapters=(chapter.moved(0),), gaps=())
    pcm = BookPcm(store, alone)
    step = _BLOCK_S * sample_rate_hz
    for start in range(0, chapter.n_samples, step):
        yield pcm.read(start, min(step, chapter.n_samples - start))
