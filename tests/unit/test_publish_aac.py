import io
import threading

import av
import numpy as np
import pytest

from loudr_core.errors import PublishError
from loudr_core.publish import aac
from loudr_core.publish.aac import (
    FRAME_SAMPLES,
    PIECE_FRAMES,
    ROLL_FRAMES,
    Encoding,
    Piece,
    encode_book,
    encode_piece,
    pack_packets,
    pcm_identity,
    piece_key,
    pieces_of,
    unpack_packets,
)

ENCODING = Encoding()


class ArraySource:
    """A book in memory."""

    def __init__(self, samples):
        self.samples = samples
        self.reads = 0

    def read(self, start, n_samples):
        self.reads += 1
        out = np.zeros(n_samples, np.float32)
        low, high = max(start, 0), min(start + n_samples, len(self.samples))
        out[low - start : high - start] = self.samples[low:high]
        return out


class DictCache(dict):
    def put(self, key, data):
        self[key] = data


def voice_like(n_frames, seed=1):
    """Return noise under a slow envelope: as hard to encode as a hissing speaker."""
    n = n_frames * FRAME_SAMPLES
    rng = np.random.default_rng(seed)
    envelope = 0.15 * (1 + np.sin(np.arange(n) / 3000)) / 2
    noise = np.convolve(rng.standard_normal(n), np.ones(8) / 8, mode="same")
    return (noise * envelope).astype(np.float32)


def decode(packets):
    """Return what a player hears of packets, priming dropped."""
    buffer = io.BytesIO(b"".join(_adts(len(packet)) + packet for packet in packets))
    with av.open(buffer, "r", format="aac") as container:
        frames = [frame.to_ndarray()[0] for frame in container.decode(audio=0)]
    return np.concatenate(frames)[FRAME_SAMPLES:]


def _adts(length):
    """Return the ADTS header of an AAC-LC mono frame at 24 kHz (ISO/IEC 13818-7, 6.2)."""
    length += 7
    return bytes(
        [0xFF, 0xF1, 1 << 6 | 6 << 2, 1 << 6 | length >> 11, length >> 3 & 255,
         (length & 7) << 5 | 0x1F, 0xFC]
    )  # fmt: skip


def test_pieces_start_anew_in_each_chapter():
    chapters = [2 * PIECE_FRAMES + 10, 5, 2 * PIECE_FRAMES - 10]
    pieces = pieces_of([n * FRAME_SAMPLES for n in chapters])
    assert [(p.chapter, p.n_frames) for p in pieces] == [
        (0, PIECE_FRAMES),
        (0, PIECE_FRAMES + 10),
        (1, 5),
        (2, PIECE_FRAMES),
        (2, PIECE_FRAMES - 10),
    ]
    assert sum(p.n_packets for p in pieces) == sum(chapters) + 1


@pytest.mark.parametrize("lengths", [[], [0], [1000], [1024, 1]])
def test_lengths_must_be_whole_frames(lengths):
    with pytest.raises(ValueError, match=r"frames|no pieces"):
        pieces_of(lengths)


def test_packets_do_not_depend_on_workers(monkeypatch):
    monkeypatch.setattr(aac, "PIECE_FRAMES", 60)
    source = ArraySource(voice_like(300))
    pieces = pieces_of([130 * FRAME_SAMPLES, 170 * FRAME_SAMPLES])
    one = list(encode_book(source, pieces, ENCODING, workers=1))
    assert one == list(encode_book(source, pieces, ENCODING, workers=3))
    assert len(one) == 301


def test_seams_are_as_good_as_the_rest(monkeypatch):
    monkeypatch.setattr(aac, "PIECE_FRAMES", 60)
    samples = voice_like(240)
    source = ArraySource(samples)
    pieces = pieces_of([120 * FRAME_SAMPLES, 120 * FRAME_SAMPLES])
    whole = Piece(chapter=0, first_frame=0, n_frames=240)
    joined = decode(list(encode_book(source, pieces, ENCODING)))
    alone = decode(list(encode_book(source, [whole], ENCODING)))
    assert len(joined) == len(alone) == len(samples)
    for piece in pieces[1:]:
        seam = slice((piece.first_frame - 2) * 1024, (piece.first_frame + 2) * 1024)
        error = np.sqrt(np.mean((joined[seam] - samples[seam]) ** 2))
        usual = np.sqrt(np.mean((alone[seam] - samples[seam]) ** 2))
        assert error < 1.1 * usual


def test_a_click_stays_on_its_sample():
    samples = np.zeros(200 * FRAME_SAMPLES, np.float32)
    click = 100 * FRAME_SAMPLES
    samples[click : click + 8] = 0.5
    pieces = pieces_of([100 * FRAME_SAMPLES, 100 * FRAME_SAMPLES])
    heard = decode(list(encode_book(ArraySource(samples), pieces, ENCODING)))
    assert abs(int(np.argmax(np.abs(heard))) - (click + 4)) <= 5


def test_an_edit_leaves_other_chapters_packets(monkeypatch):
    monkeypatch.setattr(aac, "PIECE_FRAMES", 60)
    samples = voice_like(400)
    quiet = ROLL_FRAMES * FRAME_SAMPLES
    samples[200 * FRAME_SAMPLES - quiet : 200 * FRAME_SAMPLES] = 0
    longer = np.concatenate([voice_like(20, seed=5), samples])
    before = list(encode_book(ArraySource(samples), pieces_of([200 * 1024, 200 * 1024]), ENCODING))
    after = list(encode_book(ArraySource(longer), pieces_of([220 * 1024, 200 * 1024]), ENCODING))
    assert before[201:] == after[221:]


def test_the_cache_spares_encoding_and_heals(monkeypatch):
    monkeypatch.setattr(aac, "PIECE_FRAMES", 40)
    source, cache, seen = ArraySource(voice_like(120)), DictCache(), []
    pieces = pieces_of([120 * FRAME_SAMPLES])

    def run(**options):
        seen.clear()
        return list(
            encode_book(
                source, pieces, ENCODING, cache=cache, on_piece=lambda _, hit: seen.append(hit),
                **options,
            )
        )  # fmt: skip

    first = run()
    assert seen == [False, False, False]
    assert len(cache) == 3
    assert run() == first
    assert seen == [True, True, True]
    damaged = next(iter(cache))
    cache[damaged] = cache[damaged][:-9] + b"012345678"
    assert run() == first
    assert seen.count(False) == 1


def test_named_samples_are_not_read_when_cached():
    source, cache = ArraySource(voice_like(60)), DictCache()
    pieces = pieces_of([60 * FRAME_SAMPLES])
    names = {"identify": lambda start, n: f"book {start} {n}"}
    first = list(encode_book(source, pieces, ENCODING, cache=cache, **names))
    reads = source.reads
    assert list(encode_book(source, pieces, ENCODING, cache=cache, **names)) == first
    assert source.reads == reads


def test_a_key_names_everything_that_moves_the_bits():
    piece = Piece(chapter=3, first_frame=500, n_frames=60)
    key = piece_key("a", piece, ENCODING)
    assert key == piece_key("a", Piece(chapter=4, first_frame=900, n_frames=60), ENCODING)
    others = [
        piece_key("b", piece, ENCODING),
        piece_key("a", Piece(chapter=3, first_frame=500, n_frames=61), ENCODING),
        piece_key("a", Piece(chapter=0, first_frame=0, n_frames=60), ENCODING),
        piece_key("a", piece, Encoding(bit_rate=64_000)),
        piece_key("a", piece, Encoding(sample_rate_hz=44_100)),
    ]
    assert len({key, *others}) == 6


def test_samples_are_hashed_by_value():
    samples = voice_like(2)
    assert pcm_identity(samples) == pcm_identity(samples.copy())
    assert pcm_identity(samples[::2]) == pcm_identity(samples[::2].copy())
    assert pcm_identity(samples) != pcm_identity(-samples)


def test_samples_that_are_no_numbers_are_refused():
    piece = Piece(chapter=6, first_frame=0, n_frames=1)
    samples = np.zeros(piece.roll_samples, np.float32)
    samples[40] = np.nan
    with pytest.raises(PublishError, match="chapter 7"):
        encode_piece(samples, piece, ENCODING)


def test_a_rate_that_aac_does_not_have_is_refused():
    piece = Piece(chapter=0, first_frame=0, n_frames=1)
    with pytest.raises(PublishError, match="23456 Hz"):
        encode_piece(
            np.zeros(piece.roll_samples, np.float32), piece, Encoding(sample_rate_hz=23456)
        )


def test_a_failing_source_stops_the_workers():
    class Broken(ArraySource):
        def read(self, start, n_samples):
            if start > 0:
                raise PublishError("a take is gone")
            return super().read(start, n_samples)

    pieces = pieces_of([PIECE_FRAMES * FRAME_SAMPLES] * 4)
    silence = np.zeros(4 * PIECE_FRAMES * FRAME_SAMPLES, np.float32)
    with pytest.raises(PublishError, match="gone"):
        list(encode_book(Broken(silence), pieces, ENCODING, workers=2))
    assert not [t for t in threading.enumerate() if t.name.startswith("aac")]


@pytest.mark.parametrize("data", [b"", b"LAAC1\n", b"x" * 40, pack_packets([b"ab", b"c"])[:-1]])
def test_bytes_that_are_no_packets_are_refused(data):
    with pytest.raises(ValueError, match="packets"):
        unpack_packets(data)
