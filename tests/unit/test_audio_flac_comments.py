"""Metadata written here is read by mutagen, and the frames are left as they are."""

import io
from typing import Any

import mutagen.flac
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.audio.flac_comments import with_comments

names = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7D, exclude_characters="="), min_size=1
)
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def flac() -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(1).standard_normal(6000) * 0.1
    soundfile.write(buffer, noise, 24000, format="FLAC", subtype="PCM_24")
    return buffer.getvalue()


def opened(data: bytes) -> Any:
    return mutagen.flac.FLAC(io.BytesIO(data))


WHOLE = flac()


@given(comments=st.dictionaries(names, values, max_size=6))
@settings(max_examples=80, deadline=None)
def test_mutagen_reads_what_was_written(comments: dict[str, str]) -> None:
    read, before = opened(with_comments(WHOLE, comments)), opened(WHOLE)
    assert list(read.tags) == list(comments.items())
    assert read.tags.vendor == before.tags.vendor
    assert read.info.md5_signature == before.info.md5_signature
    assert [block.code for block in read.metadata_blocks] == [0, 4]


def test_the_frames_are_the_encoder_s() -> None:
    tagged = with_comments(WHOLE, {"title": "A"})
    frames = WHOLE[WHOLE.index(b"\xff\xf8", 42) :]
    assert tagged.endswith(frames)
    assert len(tagged) - len(frames) < 120
    assert np.array_equal(
        soundfile.read(io.BytesIO(tagged), dtype="int32")[0],
        soundfile.read(io.BytesIO(WHOLE), dtype="int32")[0],
    )


def test_comments_written_again_take_the_place_of_the_first() -> None:
    once = with_comments(WHOLE, {"title": "A", "artist": "B"})
    assert with_comments(once, {"title": "C"}) == with_comments(WHOLE, {"title": "C"})


@pytest.mark.parametrize("name", ["", "a=b", "naïve", "a\n", "\x7f", "~"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a FLAC comment"):
        with_comments(WHOLE, {name: "x"})


def test_comments_longer_than_a_block_are_refused() -> None:
    with pytest.raises(ValueError, match="a FLAC file holds 16777215"):
        with_comments(WHOLE, {"title": "x" * 2**24})


@pytest.mark.parametrize("damage", [b"", b"RIFF", b"fLaC", WHOLE[:6], WHOLE[:30], WHOLE[:44]])
def test_what_is_no_flac_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="not a FLAC file"):
        with_comments(damage, {})


def test_a_file_without_stream_information_is_refused() -> None:
    with pytest.raises(ValueError, match="no stream information"):
        with_comments(b"fLaC\x81\x00\x00\x00", {})
