"""The samples of a book, read anywhere, from the takes in the store.

Nothing is written in between and only a few takes are in memory at a time, so a book of any length
needs the same memory. Pauses are digital silence. A take of another rate is resampled as a whole
each time it is read, so its samples are the same in every pass.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.audio.resample import resample
from loudr_core.audio.takefile import decode_samples, from_pcm24
from loudr_core.errors import StoreError
from loudr_core.render.layout import BookLayout, PlacedTake
from loudr_core.speech.orders import audio_key
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["BookPcm"]

_CACHED_TAKES = 6


class BookPcm:
    """Random access to the samples of a layout, before any gain. Safe to share between threads."""

    def __init__(self, store: ObjectStore, layout: BookLayout) -> None:
        self._store = store
        self._layout = layout
        self._starts = [chapter.start for chapter in layout.chapters]
        self._cache: OrderedDict[tuple[str, float], Mono] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def n_samples(self) -> int:
        """Length of the book in samples."""
        return self._layout.n_samples

    @property
    def sample_rate_hz(self) -> int:
        """Samples a second."""
        return self._layout.sample_rate_hz

    def read(self, start: int, n_samples: int) -> Mono:
        """Return samples [start, start + n_samples); silence outside the book.

        Returns
        -------
        float32, shape (n_samples,)

        Raises
        ------
        StoreError
            A take is missing or damaged, or is not the one that was laid out.
        """
        out = np.zeros(n_samples, np.float32)
        end = start + n_samples
        takes = list(self._takes(start, end))
        for take, samples in zip(takes, in_lanes(self._store, self._samples, takes), strict=True):
            low, high = max(start, take.start), min(end, take.end)
            out[low - start : high - start] = samples[low - take.start : high - take.start]
        return out

    def _takes(self, start: int, end: int) -> Iterator[PlacedTake]:
        place = max(0, bisect_right(self._starts, start) - 1)
        for chapter in self._layout.chapters[place:]:
            if chapter.start >= end:
                break
            yield from chapter.takes_in(start, end)

    def _samples(self, take: PlacedTake) -> Mono:
        key = (take.take_key, take.level_db)
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._cache.move_to_end(key)
                return cached
        samples = self._load(take)
        with self._lock:
            self._cache[key] = samples
            while len(self._cache) > _CACHED_TAKES:
                self._cache.popitem(last=False)
        return samples

    def _load(self, take: PlacedTake) -> Mono:
        key = audio_key(take.take_key)
        data = self._store.get(key)
        if data is None:
            raise StoreError(
                f"the audio of {take.segment_id} is gone ({key}); render again to make it",
                segment=take.segment_id,
            )
        try:
            pcm, rate = decode_samples(data)
        except StoreError as error:
            raise StoreError(
                f"the audio of {take.segment_id} is damaged ({key}): {error.message}",
                segment=take.segment_id,
            ) from error
        wanted, wanted_hz = take.source or (take.n_samples, self._layout.sample_rate_hz)
        if rate != wanted_hz or len(pcm) != wanted:
            raise StoreError(
                f"the audio of {take.segment_id} is not what its choice names ({key}: "
                f"{len(pcm)} samples at {rate} Hz, expected "
                f"{wanted} at {wanted_hz}); delete it and render again",
                segment=take.segment_id,
            )
        samples = resample(from_pcm24(pcm), rate, self._layout.sample_rate_hz)
        return samples * np.float32(10 ** (take.level_db / 20)) if take.level_db else samples
