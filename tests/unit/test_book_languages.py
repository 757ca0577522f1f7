"""Languages: what books call them, and what their text says."""

from pathlib import Path

import pytest

from loudr_core.book.languages import guess_language, language_tag
from loudr_core.book.read import read_book
from loudr_core.errors import BookError

ENGLISH = "It was the best of times and the worst of times, and he had not seen her that day. "
GERMAN = "Es war die beste und die schlechteste der Zeiten, und er hatte sie an dem Tag nicht. "


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("en", "en"), ("en-GB", "en-GB"), ("en_US", "en-US"), ("eng", "en"), ("EN", "en"),
        ("English", "en"), ("English (US)", "en"), ("eng-GB", "en-GB"), ("ger", "de"),
        ("Deutsch", "de"), ("français", "fr"), ("fil", "fil"), ("zh-Hant-TW", "zh-Hant-TW"),
        ("x-klingon", "x-klingon"), ("und", ""), ("", ""), ("n/a", ""), ("unknown words", ""),
        ("grc", "grc"), ("mul", ""),
    ],
)  # fmt: skip
def test_tags(said: str, tag: str) -> None:
    assert language_tag(said).lower() == tag.lower()


def test_the_guess_is_silent_when_it_is_not_plain() -> None:
    assert guess_language(ENGLISH * 10) == "en"
    assert guess_language(GERMAN * 10) == "de"
    assert guess_language(ENGLISH) == ""
    assert guess_language((ENGLISH + GERMAN) * 10) == ""
    assert guess_language("Arma virumque cano Troiae qui primus ab oris " * 30) == ""


@pytest.mark.parametrize(
    ("head", "text", "language", "warned"),
    [
        ("", ENGLISH, "en", True),
        ("language: en-GB", ENGLISH, "en-GB", False),
        ("language: English", ENGLISH, "en", False),
        ("language: de", ENGLISH, "de", True),
        ("language: cy", ENGLISH[:40], "cy", False),
        ("", GERMAN, "de", True),
    ],
)
def test_a_language_that_is_missing_or_wrong(
    tmp_path: Path, head: str, text: str, language: str, warned: bool
) -> None:
    path = tmp_path / "b.md"
    path.write_text(f"---\ntitle: T\n{head}\n---\n" + text * (1 if len(text) < 50 else 10))
    book = read_book(path)
    assert book.metadata.language == language
    assert ("book-language" in {f.code for f in book.findings}) is warned


def test_every_refusal_names_the_book(tmp_path: Path) -> None:
    path = tmp_path / "My Book.epub"
    path.write_bytes(b"PK but no more")
    with pytest.raises(BookError, match=r"My Book\.epub"):
        read_book(path)
