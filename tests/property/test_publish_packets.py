from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.publish.aac import (
    FRAME_SAMPLES,
    PIECE_FRAMES,
    pack_packets,
    pieces_of,
    unpack_packets,
)
from loudr_core.publish.names import MAX_NAME_BYTES, cut_utf8, file_name


@given(st.lists(st.binary(max_size=40), max_size=20))
@settings(max_examples=60)
def test_packets_survive_packing(packets):
    assert unpack_packets(pack_packets(packets)) == packets


@given(st.lists(st.integers(1, 5 * PIECE_FRAMES), min_size=1, max_size=12))
@settings(max_examples=60)
def test_pieces_cover_the_book_once_in_order(frames):
    pieces = pieces_of([n * FRAME_SAMPLES for n in frames])
    at = 0
    for piece in pieces:
        assert piece.first_frame == at
        assert 1 <= piece.n_frames <= 1.5 * PIECE_FRAMES
        at += piece.n_frames
    assert at == sum(frames)
    starts = {sum(frames[:k]) for k in range(len(frames))}
    assert starts <= {piece.first_frame for piece in pieces}


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_title_gives_a_usable_name(title):
    name = file_name(title, ".m4b", fallback="b-17")
    assert name.endswith(".m4b")
    assert 4 < len(name.encode()) <= MAX_NAME_BYTES + 1
    assert not set(name) & set('/\\:*?"<>|\0\n')
    assert not name.startswith((".", " "))


@given(st.text(max_size=60), st.integers(0, 80))
@settings(max_examples=200)
def test_a_cut_text_is_a_start_that_fits(text, room):
    cut = cut_utf8(text, room)
    assert text.startswith(cut)
    assert len(cut.encode()) <= room
