"""A table of phonemes: what is found in it, and what is wrong with it in one line."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import ConfigError
from loudr_core.jobs.phoneme_table import (
    PhonemeRow,
    PhonemeTable,
    read_phoneme_table,
    write_phoneme_table,
)


def row(
    phonemes: str | None, spoken: str = "", segment_id: str = "", language: str = ""
) -> PhonemeRow:
    return PhonemeRow(segment_id=segment_id, language=language, spoken=spoken, phonemes=phonemes)


def test_words_are_found_wherever_an_edit_has_moved_them() -> None:
    table = PhonemeTable([row("aɪ", "I.", "c001-s0002", "en"), row("juː", "You.")])
    assert table.find("c001-s0009", "en", "I.") == "aɪ"
    assert table.find("c001-s0002", "en", "You.") == "juː"
    assert table.find("c001-s0002", "en", "They.") is None
    assert table.find("c001-s0009", "de", "I.") is None
    assert table.unused == []


def test_a_language_with_a_region_is_found_by_its_primary_tag_too() -> None:
    table = PhonemeTable([row("iç", "Ich.", language="de"), row("ik", "Ich.", language="de-CH")])
    assert table.find("c001-s0001", "de-AT", "Ich.") == "iç"
    assert table.find("c001-s0001", "de-CH", "Ich.") == "ik"


def test_two_ways_of_the_same_words_are_told_apart_by_the_segment() -> None:
    rows = [row("ɹiːd", "Read.", "c001-s0001"), row("ɹɛd", "Read.", "c001-s0002")]
    table = PhonemeTable(rows)
    assert table.find("c001-s0001", "en", "Read.") == "ɹiːd"
    assert table.find("c001-s0002", "en", "Read.") == "ɹɛd"
    with pytest.raises(ConfigError, match=r"'Read\.' in 2 ways, and c001-s0003 has these words"):
        table.find("c001-s0003", "en", "Read.")


def test_a_row_may_name_its_segment_alone() -> None:
    table = PhonemeTable([row("ɹɛd", segment_id="c001-s0002")])
    assert table.find("c001-s0002", "en", "Whatever.") == "ɹɛd"
    assert table.find("c001-s0003", "en", "Whatever.") is None


def test_rows_that_nobody_asked_for_and_rows_without_phonemes() -> None:
    table = PhonemeTable([row("a", "A."), row("b", "B."), row(None, "C.")])
    table.find("c001-s0001", "en", "A.")
    assert table.find("c001-s0001", "en", "C.") is None
    assert table.unused == ["B."]
    assert len(table) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(" ", "A.")], r"the phonemes of 'A\.' are empty"),
        ([row("a")], "neither spoken words nor a segment_id"),
        (
            [row("a", "A.", "c001-s0001"), row("b", "A.", "c001-s0001")],
            "two rows say 'c001-s0001' in two ways",
        ),
    ],
)
def test_rows_that_contradict_are_refused(rows: Sequence[PhonemeRow], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PhonemeTable(rows)


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
ROWS = st.lists(
    st.builds(
        row,
        st.none() | TEXTS.filter(str.strip),
        TEXTS.filter(bool),
        st.just(""),
        st.sampled_from(["", "de", "he"]),
    ),
    unique_by=lambda each: (each.spoken, each.language),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[PhonemeRow], parquet: bool
) -> None:
    path = tmp_path_factory.mktemp("table") / ("a.parquet" if parquet else "a.jsonl")
    path.write_bytes(write_phoneme_table(rows, parquet=parquet))
    table = read_phoneme_table(path)
    assert table.digest() == PhonemeTable(rows).digest()
    assert table.digest() == PhonemeTable(rows[::-1]).digest()
    for each in rows:
        if each.phonemes is not None:
            assert table.find("c001-s0001", each.language, each.spoken) == each.phonemes


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b"{", "line 1: not JSON"),
        (b"[1]\n", "line 1: must be an object"),
        (b'\n{"spoken": "a"}', "line 2: phonemes is missing"),
        (b'{"phonemes": 1, "spoken": "a"}', "phonemes must be text, found '1'"),
        (b'{"phonemes": "a", "word": "a"}', "no key 'word': there are segment_id"),
        (b"\n\n", "holds no row"),
        (b'{"phonemes": "a"}', "neither spoken words nor a segment_id"),
    ],
)
def test_a_file_that_is_no_table_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as caught:
        read_phoneme_table(path)
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message


def test_a_missing_file_and_a_parquet_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the phonemes .*none\.jsonl: No such file"):
        read_phoneme_table(tmp_path / "none.jsonl")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(ConfigError, match="is no Parquet file"):
        read_phoneme_table(tmp_path / "a.parquet")


def test_lines_are_json_that_a_person_can_read() -> None:
    data = write_phoneme_table([row("ʃaˈlom.", "שלום.", "c001-s0001", "he")])
    assert "ʃaˈlom" in data.decode()
    assert json.loads(data) == {
        "segment_id": "c001-s0001", "language": "he", "spoken": "שלום.", "phonemes": "ʃaˈlom.",
    }  # fmt: skip
