"""Figures of other languages in words: each by its own convention, or left as they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.text.draft import unspoken_words
from loudr_core.text.foreign import decimal, knows_language, minus, ordinal, year
from loudr_core.text.normalize import normalize

BLUE = ("de", "es", "he", "it", "ru")
OTHERS = ("da", "fi", "fr", "nl", "no", "pl", "pt", "sv")


def spoken(language: str, text: str) -> str:
    return normalize(text, language=language).spoken


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        # whole numbers, thousands by the language's own mark
        ("de", "1.002.003", "eine Million zweitausenddrei"),
        ("de-CH", "10’000", "zehntausend"),
        ("es", "1.000", "mil"),
        ("fr", "10 000", "dix mille"),
        ("fr", "10 000", "dix mille"),
        ("it", "10.000", "diecimila"),
        ("pt", "1.000.000", "um milhão"),
        ("ru", "10 000", "десять тысяч"),
        ("he", "1,234", "אלף מאתיים שלושים וארבע"),
        ("he", "ב-1984", "ב-אלף תשע מאות שמונים וארבע"),
        # decimals, with the zeros at their end
        ("de", "3,50", "drei Komma fünf null"),
        ("de", "1.234,05", "eintausendzweihundertvierunddreißig Komma null fünf"),
        ("es", "2,5", "dos coma cinco"),
        ("it", "3,14", "tre virgola uno quattro"),
        ("fr", "1 234,5", "mille deux cent trente-quatre virgule cinq"),
        ("pt", "0,5", "zero vírgula cinco"),
        ("ru", "3,5", "три целых пять десятых"),
        ("he", "3.5", "שלוש נקודה חמש"),
        ("pl", "3,05", "trzy przecinek zero pięć"),
        # negative numbers
        ("de", "−7", "minus sieben"),
        ("de", "bei –4 Grad", "bei minus vier Grad"),
        ("es", "a -3 grados", "a menos tres grados"),
        ("it", "(-3)", "(meno tre)"),
        ("ru", "-7", "минус семь"),
        ("he", "-7", "מינוס שבע"),
        ("pl", "-7", "minus siedem"),
        # ordinals
        ("es", "el 3.º, la 3.ª y el 1.er", "el tercero, la tercera y el primer"),
        ("it", "il 3º e la 21ª", "il terzo e la ventunesima"),
        ("pt", "o 1º e a 2ª", "o primeiro e a segunda"),
        ("fr", "le 1er, la 1re, le 21e", "le premier, la première, le vingt et unième"),
        ("fr", "les 3èmes", "les troisièmes"),
        ("fr", "la 2nde, le 2nd", "la seconde, le second"),
        ("nl", "de 1ste en de 3e", "de eerste en de derde"),
        ("sv", "den 3:e och 1:a", "den tredje och första"),
        ("ru", "5-й, 7-я, 3-е", "пятый, седьмая, третье"),
        ("ru", "25-го, 2-му, 7-ю", "двадцать пятого, второму, седьмую"),
        ("de", "Am 3. Mai", "Am dritten Mai"),
        ("de", "Es war der 3. Mai.", "Es war der dritte Mai."),
        ("de", "3. Mai 1914", "dritter Mai neunzehnhundertvierzehn"),
        ("de", "im 2. Weltkrieg", "im zweiten Weltkrieg"),
        ("de", "das 20. Jahrhundert", "das zwanzigste Jahrhundert"),
        ("da", "den 3. maj", "den tredje maj"),
        ("no", "17. mai", "syttende mai"),
        # years, times, shares
        ("de", "1984", "neunzehnhundertvierundachtzig"),
        ("de", "2024", "zweitausendvierundzwanzig"),
        ("de", "um 12:30 Uhr", "um zwölf Uhr dreißig"),
        ("de", "um 12:00 Uhr", "um zwölf Uhr"),
        ("es", "a las 7:05", "a las siete cinco"),
        ("de", "50 %", "fünfzig Prozent"),
        ("fr", "50 %", "cinquante pour cent"),
        ("ru", "1 %, 22%", "один процент, двадцать два процента"),
        ("ru", "5 %, 11 %", "пять процентов, одиннадцать процентов"),
        ("ru", "3,5 %", "три целых пять десятых процента"),
        # simple fractions
        ("de", "½ Liter, 3½ und 3 1/2", "ein halb Liter, drei und ein halb und drei und ein halb"),
        ("es", "2/3 de 1¼", "dos tercios de uno y un cuarto"),
        ("fr", "les 3/4", "les trois quarts"),
        ("he", "3½", "שלוש וחצי"),
        ("ru", "¾ года", "три четверти года"),
        ("ru", "1990-е и 90-е", "тысяча девятьсот девяностые и девяностые"),
        # one by one
        ("de", "007", "null null sieben"),
    ],
)  # fmt: skip
def test_a_language_has_its_own_convention(language: str, text: str, wanted: str) -> None:
    assert spoken(language, text) == wanted


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "3.14"),  # a date, a version, a chapter: not for us to say
        ("de", "1.2.3"),
        ("de", "12345678901234567890"),
        ("ru", "5-летний"),
        ("ru", "в 5-х рядах"),  # an ending of several cases
        ("fr", "4er"),
        ("es", "0º"),
        ("de", "A7"),
        ("yi", "1984"),
        ("xx", "1984"),
    ],
)
def test_what_is_not_certain_keeps_its_figures(language: str, text: str) -> None:
    assert spoken(language, text) == text


def test_a_stop_behind_a_number_ends_a_sentence_where_nothing_says_otherwise() -> None:
    assert spoken("de", "Es waren 3. Mehr nicht.") == "Es waren drei. Mehr nicht."
    assert spoken("de", "Kapitel 3. Das Haus") == "Kapitel drei. Das Haus"


def test_words_before_a_dialogue_are_no_minus() -> None:
    assert spoken("es", "–7 años –dijo.").startswith("—siete años")
    assert spoken("de", "1914–1918").count("minus") == 0


@pytest.mark.parametrize("language", [*BLUE, *OTHERS])
def test_every_language_is_whole(language: str) -> None:
    assert knows_language(language)
    assert minus(language)
    assert decimal("3", "05", language)
    assert ordinal("3", language)
    for number in (*range(120), 999, 1000, 1001, 12_345, 10**6, 10**9 + 1, 10**12):
        said = spoken(language, f"a {number} b")
        assert not any(map(str.isdigit, said)), said


def test_years_have_hundreds_in_some_languages() -> None:
    assert year("1815", "nl") == "achttien honderd vijftien"
    assert year("1815", "es") is None
    assert year("2015", "de") is None


PIECES = st.sampled_from(
    ["3", "-7", "−2", "1.234", "3,50", "10 000", "1,234.5", "12:30", "50 %", "3º", "2ª", "1er",
     "5-й", "25-го", "5-летний", "3. Mai", "am 3. Mai", "007", "1984", "1914–1918", "½", "2¾",
     "2/3", "1/2/3", "§ 5", "0º", "90-е",
     "№7", "wort", "слово", "מילה", ".", ",", "(", ")", "—", "'", "10'000", "3:e", "21e", "Uhr"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "\u00a0"])), max_size=8),
    st.sampled_from([*BLUE, *OTHERS]),
)
def test_twice_is_once_and_every_word_is_accounted_for(
    items: list[tuple[str, str]], language: str
) -> None:
    text = "".join(piece + gap for piece, gap in items)
    result = normalize(text, language=language)
    assert unspoken_words(text, result) == []
    assert normalize(result.spoken, language=language).spoken == result.spoken
