"""Times of windows and words."""

import json
from pathlib import Path

import pytest

from loudr_core.speech.loudr1.timeline import ChunkSpan, ChunkTiming, WordTiming, timeline


def test_published_timelines(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/timeline.json").read_text())
    for case in vectors["cases"]:
        found = timeline([ChunkSpan(*span) for span in case["spans"]], sample_rate_hz=24000)
        wanted = tuple(
            ChunkTiming(
                chunk["text"],
                float.fromhex(chunk["start"]),
                float.fromhex(chunk["end"]),
                chunk["tokens"],
                tuple(
                    WordTiming(word, float.fromhex(start), float.fromhex(end))
                    for word, start, end in chunk["words"]
                ),
            )
            for chunk in case["chunks"]
        )
        assert found == wanted


def test_words_share_their_chunk_by_length() -> None:
    (chunk,) = timeline([ChunkSpan(" a  bbb ", 24_000, 25)], sample_rate_hz=24_000)
    assert chunk.words == (WordTiming("a", 0.0, 0.25), WordTiming("bbb", 0.25, 1.0))


def test_a_chunk_without_words_still_takes_its_time() -> None:
    spans = [ChunkSpan(" ", 480, 1), ChunkSpan("on", 480, 1)]
    silent, spoken = timeline(spans, sample_rate_hz=48_000)
    assert silent.words == ()
    assert spoken.start == silent.end == 0.01


def test_no_windows_no_times() -> None:
    assert timeline([], sample_rate_hz=24_000) == ()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="not 0"):
        timeline([], sample_rate_hz=0)
    with pytest.raises(ValueError, match="-5 samples"):
        timeline([ChunkSpan("a", -5, 1)], sample_rate_hz=24_000)
