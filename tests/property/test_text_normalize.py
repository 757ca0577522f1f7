from hypothesis import example, given, settings
from hypothesis import strategies as st

from loudr_core.text.draft import unspoken_words
from loudr_core.text.normalize import normalize

MARKS = set(" ,.;:!?'\"()—-")
PIECES = st.sampled_from(
    [
        "Dr.", "Mrs. Lund", "St.", "John", "IV", "Louis XIV", "Chapter", "I", "No.", "5", "1907",
        "1,024", "km", "$", "£5", "%", "10:30", "a.m.", "May", "½", "2/3", "–", "—", "...", "U.S.",
        "J.", "R.", "THE", "STOP", "FBI", "and", "the", "etc.", "(", ")", "[12]", "“",
        "”", "‘", "’",
        "\n", "\t", "'60s", "1990s", "x²", "°F", "&", "@", "#", "é", "e\u0301", "😀", "www.a.com",
        "a@b.co", "12–15", "3rd", "v2.0", "B2B", "-5", ".", ",", ";", "!", "?", "_", "*", "007",
        "lb.", "ft.", "in.", "vol.", "p.", "etc", "A.D.", "MIX", "O’BRIEN", "ﬁ", "٣", "Ⅳ",
        "字", "\u00ad",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.tuples(PIECES, st.sampled_from(["", " "])), max_size=10).map(
        lambda items: "".join(piece + gap for piece, gap in items)
    ),
)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, heading=st.booleans())
@example(text="No.I", heading=False)
def test_twice_is_once(text, heading):
    once = normalize(text, heading=heading).spoken
    assert normalize(once, heading=heading).spoken == once


@settings(max_examples=400, deadline=None)
@given(
    text=TEXTS, heading=st.booleans(), language=st.sampled_from(["en", "en-GB", "fr", "de", "ja"])
)
def test_every_word_is_accounted_for(text, heading, language):
    result = normalize(text, heading=heading, language=language)
    assert unspoken_words(text, result) == []


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_only_words_and_plain_marks_come_out(text):
    import unicodedata

    spoken = normalize(text).spoken
    for character in spoken:
        assert (
            character.isalpha()
            or character in MARKS
            or unicodedata.category(character)[0] in "M"
            or character in "\u200c\u200d"
        ), repr(character)
    assert spoken == spoken.strip()
    assert "  " not in spoken


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_offsets_are_in_range_and_ascend(text):
    result = normalize(text)
    position = 0
    for item in result.offsets:
        assert 0 <= item.start <= item.end <= len(text)
        assert 0 <= item.spoken_start <= item.spoken_end <= len(result.spoken)
        if item.spoken_start < item.spoken_end:
            assert item.spoken_start == position
            position = item.spoken_end
        if not item.rule:
            assert text[item.start : item.end] == result.spoken[item.spoken_start : item.spoken_end]
    assert position == len(result.spoken)
