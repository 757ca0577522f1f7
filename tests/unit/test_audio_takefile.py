"""Takes as bytes: exact samples, tags, and damage that is noticed."""

import numpy as np
import pytest

from loudr_core.audio.takefile import (
    decode_take,
    encode_take,
    from_pcm24,
    pcm_bytes,
    pcm_sha256,
    to_pcm24,
)
from loudr_core.errors import StoreError

TAGS = {"loudr_result": '{"text":"naïve — “yes”","seed":"18446744073709551615"}', "title": "x=y\n"}


def take(n_samples: int = 5000) -> np.ndarray:
    return (np.random.default_rng(1).standard_normal(n_samples) * 0.1).astype(np.float32)


def test_halves_go_to_the_even_neighbour_and_full_scale_is_clipped() -> None:
    step = 2.0**-23
    samples = np.array([0.5 * step, 1.5 * step, -0.5 * step, -1.5 * step, 1, -1, 2, -2], np.float32)
    assert to_pcm24(samples).tolist() == [0, 2, 0, -2, 2**23 - 1, -(2**23), 2**23 - 1, -(2**23)]


def test_packing_is_little_endian_24_bit() -> None:
    pcm = np.array([1, -1, 2**23 - 1, -(2**23)], np.int32)
    assert pcm_bytes(pcm).hex() == "010000ffffffffff7f000080"
    assert pcm_sha256(pcm[:0]).startswith("e3b0c442")


def test_a_take_comes_back_with_its_tags() -> None:
    back = decode_take(encode_take(take(), 22050, TAGS))
    assert back.sample_rate_hz == 22050
    assert back.tags == TAGS
    assert np.array_equal(back.pcm, to_pcm24(take()))


def test_equal_takes_give_equal_bytes() -> None:
    assert encode_take(take(), 24000, TAGS) == encode_take(take(), 24000, TAGS)


def test_a_long_tag_is_kept() -> None:
    tags = {"loudr_result": "ü" * 100_000}
    assert decode_take(encode_take(take(), 24000, tags)).tags == tags


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_integer_is_made_of_nan_or_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        encode_take(np.array([0, value], np.float32), 24000, {})


def test_no_samples_and_bad_tag_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        encode_take(np.zeros(0, np.float32), 24000, {})
    with pytest.raises(ValueError, match="a=b"):
        encode_take(take(), 24000, {"a=b": ""})


def test_every_cut_and_flipped_byte_is_noticed() -> None:
    data = encode_take(take(), 24000, {"loudr_result": "{}"})
    for length in (0, 3, 40, 200, len(data) // 2, len(data) - 1):
        with pytest.raises(StoreError, match="damaged"):
            decode_take(data[:length])
    for place in range(200, len(data), 997):
        flipped = bytearray(data)
        flipped[place] ^= 0x10
        with pytest.raises(StoreError, match="damaged"):
            decode_take(bytes(flipped))


def test_from_pcm24_spans_minus_one_to_just_under_one() -> None:
    assert from_pcm24(np.array([-(2**23), 2**23 - 1], np.int32)).tolist() == [-1.0, 1 - 2.0**-23]
