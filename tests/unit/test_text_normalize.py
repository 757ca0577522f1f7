import tomllib
from pathlib import Path

import pytest

from loudr_core.text.draft import unspoken_words
from loudr_core.text.normalize import normalize

GOLDEN = tomllib.loads(
    (Path(__file__).parents[1] / "golden/text/normalize.toml").read_text(encoding="utf-8")
)
CASES = [
    (section, text, spoken) for section, table in GOLDEN.items() for text, spoken in table.items()
]


def _read(section: str, text: str):
    language = section if len(section) == 2 else "en"
    return normalize(text, language=language, heading=section == "heading")


@pytest.mark.parametrize(("section", "text", "spoken"), CASES)
def test_golden_reading(section, text, spoken):
    result = _read(section, text)
    assert result.spoken == spoken
    assert _read(section, result.spoken).spoken == spoken
    assert unspoken_words(text, result) == []


def test_there_are_enough_cases():
    assert len(CASES) >= 120


def test_offsets_lay_each_word_beside_what_is_said():
    text = "Dr. Osei paid $1.5 million"
    result = normalize(text)
    found = {}
    for item in result.offsets:
        found.setdefault(item.rule, []).append(
            (text[item.start : item.end], result.spoken[item.spoken_start : item.spoken_end])
        )
    assert ("$1.5 million", "one point five million dollars") in [
        pair for rule in found for pair in found[rule] if rule == "money"
    ] or ("$1.5", "one point five") in [pair for rule in found for pair in found[rule]]
    assert result.offsets[0].start == 0
    assert result.offsets[-1].spoken_end == len(result.spoken)


def test_offsets_cover_spoken_text_without_gap():
    result = normalize("On 3 May 1907 Mrs. Lund—“STOP!”—paid £20 & left.")
    position = 0
    for item in result.offsets:
        assert item.spoken_start == position or item.spoken_start == item.spoken_end
        position = max(position, item.spoken_end)
    assert position == len(result.spoken)


@pytest.mark.parametrize("text", ["", "   ", "***", "— —", "\u200b"])
def test_nothing_to_say(text):
    assert not any(map(str.isalnum, normalize(text).spoken))


def test_must_and_must_not_of_the_shared_book(test_data):
    import json

    from loudr_core.book.read import read_book
    from loudr_core.text.model import TextOptions
    from loudr_core.text.segment import segment_book

    expected = json.loads((test_data / "epubs/expected.json").read_text(encoding="utf-8"))
    book = read_book(test_data / "epubs/c09_normalise.epub")
    segments = segment_book(book, TextOptions(max_characters=400, target_characters=300)).segments
    spoken = " ".join(segment.spoken for segment in segments)
    for must in expected["c09_normalise"]["must"]:
        forms = must.split("|")
        head = forms[0].rsplit(" ", 1)[0]
        assert any(form in spoken or f"{head} {form}" in spoken for form in forms), must
    for must_not in expected["c09_normalise"]["must_not"]:
        assert must_not not in spoken
    assert segments[0].spoken == "Four."
    assert segments[-1].spoken == "C'est drôle et stéréo."
    assert segments[-1].language == "fr"
