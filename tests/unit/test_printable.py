"""What stands in a message comes from anywhere and is printed on one line."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BookError
from loudr_core.printable import printable


def test_names_that_a_person_reads_stay_as_they_are() -> None:
    for name in ("Übung é.md", "père\u2019s", "कि\u200dताब", "کتاب\u200cها", "soft\u00adhyphen"):
        assert printable(name) == name


def test_what_would_act_on_a_terminal_is_shown() -> None:
    assert printable("new\nline") == "new line"
    assert printable("\x1b[31mred") == r"\x1b[31mred"
    assert printable("latin\udce9") == r"latin\xe9"
    assert printable("a\0b\ud800") == r"a\x00b\ud800"
    assert printable("\u202eepub.md") == r"\u202eepub.md"


@given(st.text(st.characters(codec=None)))
@settings(max_examples=300, deadline=None)
def test_any_text_is_one_line_of_utf8(text: str) -> None:
    said = printable(text)
    assert len(said.splitlines()) <= 1
    assert said.encode().decode() == said
    assert printable(said) == said


def test_an_error_is_one_line() -> None:
    error = BookError("no such file: a\nb\udce9")
    assert error.message == str(error) == r"no such file: a b\xe9"
