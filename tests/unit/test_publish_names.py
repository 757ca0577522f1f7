import pytest

from loudr_core.publish.names import MAX_NAME_BYTES, cut_utf8, file_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The Time Machine", "The Time Machine.m4b"),
        ("Dune: Part/One\\Two", "Dune - Part-One-Two.m4b"),
        ('What? "No" <x> a|b *', "What 'No' (x) a-b.m4b"),
        ("  .hidden. ", "hidden.m4b"),
        ("CON", "_CON.m4b"),
        ("lpt1.txt", "_lpt1.txt.m4b"),
        ("Console", "Console.m4b"),
        ("..", "b-17.m4b"),
        ("\0\n\t", "b-17.m4b"),
        ("\u202egnp.exe", "gnp.exe.m4b"),
        ("L’été — 日本", "L’été — 日本.m4b"),
    ],
)
def test_a_title_becomes_a_name(title, name):
    assert file_name(title, ".m4b", fallback="b-17") == name


def test_a_long_title_is_cut_at_a_character():
    name = file_name("é" * 300, ".m4b", fallback="b")
    assert name == "é" * 98 + ".m4b"
    assert len(name.encode()) == MAX_NAME_BYTES


def test_a_family_is_not_torn_apart():
    family = "👩‍👩‍👧"
    assert cut_utf8(family * 3, len(family.encode()) * 2 + 9) == family * 2
    assert cut_utf8("e\u0301" * 2, 5) == "e\u0301"


def test_equal_letters_give_equal_names():
    assert file_name("Été", ".m4b", fallback="") == file_name("Été", ".m4b", fallback="")


def test_there_is_always_a_name():
    assert file_name("", ".m4b", fallback="//") == "--.m4b"
    assert file_name("", ".m4b", fallback="") == "book.m4b"
