"""Philox-4x32-10 against published vectors, and one field however it is asked for."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.speech.loudr1.philox import UniformField, philox_4x32_10, uniforms, uniforms_at

KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Of the authors' library Random123, file kat_vectors."""


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN_ANSWERS)
def test_known_answers(
    counter: tuple[int, int, int, int], key: tuple[int, int], wanted: tuple[int, ...]
) -> None:
    words = philox_4x32_10(*counter, k0=key[0], k1=key[1])
    assert tuple(int(word) for word in words) == wanted


def test_published_blocks_and_fields(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/philox.json").read_text())
    for case in vectors["raw"]:
        words = philox_4x32_10(*case["counter"], *case["key"])
        assert [int(word) for word in words] == case["out"]
    for case in vectors["uniform_bits"]:
        shape = (case["n_steps"], case["width"])
        found = uniforms(int(case["seed"]), case["stream"], case["step0"], *shape)
        wanted = (np.array(case["bits"], np.float64).reshape(shape) + 0.5) / 2**32
        np.testing.assert_array_equal(found, wanted)


def test_counters_broadcast() -> None:
    columns, rows = np.arange(5), np.arange(3)[:, None]
    words = philox_4x32_10(columns, rows, 7, 0, 1, 2)
    assert all(word.shape == (3, 5) for word in words)
    alone = philox_4x32_10(4, 2, 7, 0, 1, 2)
    assert [int(word[2, 4]) for word in words] == [int(word) for word in alone]


def test_a_column_is_the_same_alone_and_in_its_row() -> None:
    row = uniforms(99, 3, 17, 1, 1001)[0]
    assert row.min() > 0
    assert row.max() < 1
    columns = np.random.default_rng(0).permutation(1001)[:200]
    np.testing.assert_array_equal(uniforms_at(99, 3, 17, columns), row[columns])
    np.testing.assert_array_equal(uniforms_at(99, 3, 17, [1000]), row[1000:])
    assert uniforms_at(99, 3, 17, []).shape == (0,)


def test_blocks_of_several_rows() -> None:
    field = UniformField(99, 3)
    blocks = np.array([0, 2, 1, 2], np.uint64)
    rows = np.array([17, 17, 18, 2**32 + 18], np.uint64)
    whole = uniforms(99, 3, 17, 2, 12).reshape(2, 3, 4)
    found = field.lanes(rows, blocks)
    np.testing.assert_array_equal(found.T, [whole[0, 0], whole[0, 2], whole[1, 1], whole[1, 2]])
    np.testing.assert_array_equal(field.lanes(17, blocks).T, whole[0, [0, 2, 1, 2]])


def test_only_low_bits_of_an_address_matter() -> None:
    field = uniforms(7, 5, 9, 2, 6)
    for same in [(2**64 + 7, 5, 9), (7 - 2**64, 5, 9), (7, 2**32 + 5, 9), (7, 5, 2**32 + 9)]:
        np.testing.assert_array_equal(uniforms(*same, 2, 6), field)
    for other in [(8, 5, 9), (2**32 + 7, 5, 9), (7, 6, 9), (7, 5, 11)]:
        assert not np.isin(uniforms(*other, 2, 6), field).any()


def test_numpy_integers_are_integers() -> None:
    wide = uniforms(2**64 - 1, 1, 2, 1, 4)
    top: Any = np.uint64(2**64 - 1)
    small: Any = np.int8
    np.testing.assert_array_equal(uniforms(top, small(1), 2, 1, 4), wide)
    np.testing.assert_array_equal(uniforms(small(-1), 1, small(2), 1, 4), wide)


@pytest.mark.parametrize(
    "columns", [[-1], [0.5], [[1, 2]], ["a"], 3], ids=["negative", "half", "2-D", "text", "0-D"]
)
def test_wrong_columns_are_refused(columns: object) -> None:
    with pytest.raises(ValueError, match="column"):
        uniforms_at(1, 2, 3, columns)  # type: ignore[arg-type]


def test_a_field_of_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="below 0"):
        uniforms(1, 2, 3, -1, 4)
