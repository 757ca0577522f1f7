"""No file takes the place of another book's or another plan's, wherever they meet."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import PublishError
from loudr_core.publish.names import MAX_NAME_BYTES, chapter_list, chapters_note
from loudr_core.publish.naming import SOMEBODY, NameWish, Owner, choose_name, renamed

FIRST = Owner(book_id="same-11111111", plan_id="aaaaaaaa00000000")
OTHER_PLAN = Owner(book_id="same-11111111", plan_id="bbbbbbbb00000000")
OTHER_BOOK = Owner(book_id="same-22222222", plan_id="cccccccc00000000")
WISH = NameWish(title="Same", ending=".m4b", owner=FIRST, author="A. Author")


def chosen(wish: NameWish, there: dict[str, Owner], *, overwrite: bool = False) -> str:
    return choose_name(wish, there.get, overwrite=overwrite)


def test_a_free_name_is_taken_and_kept() -> None:
    assert chosen(WISH, {}) == "Same.m4b"
    assert chosen(WISH, {"Same.m4b": FIRST}) == "Same.m4b"


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ({"Same.m4b": OTHER_BOOK}, "Same - A. Author.m4b"),
        ({"Same.m4b": SOMEBODY}, "Same - A. Author.m4b"),
        ({"Same.m4b": OTHER_BOOK, "Same - A. Author.m4b": OTHER_BOOK}, "Same (11111111).m4b"),
        ({"Same.m4b": OTHER_PLAN}, "Same (aaaaaaaa).m4b"),
    ],
)
def test_a_taken_name_gets_what_tells_them_apart(there: dict[str, Owner], name: str) -> None:
    assert chosen(WISH, there) == name


def test_the_profile_tells_two_plans_apart() -> None:
    wish = replace(WISH, profile="acx")
    assert chosen(wish, {"Same.m4b": OTHER_PLAN}) == "Same (acx).m4b"
    there = {"Same.m4b": OTHER_PLAN, "Same (acx).m4b": OTHER_PLAN}
    assert chosen(wish, there) == "Same (aaaaaaaa).m4b"


def test_a_file_goes_where_it_went_before_though_the_plain_name_is_free_now() -> None:
    assert chosen(WISH, {"Same - A. Author.m4b": FIRST}) == "Same - A. Author.m4b"


def test_overwriting_is_asked_for() -> None:
    assert chosen(WISH, {"Same.m4b": OTHER_BOOK}, overwrite=True) == "Same.m4b"


def test_when_every_name_is_taken_it_says_so() -> None:
    with pytest.raises(PublishError, match=r"Same\.m4b .*another folder.*--overwrite"):
        choose_name(WISH, lambda name: SOMEBODY)


def test_a_name_that_is_not_the_plain_one_is_told() -> None:
    assert renamed(WISH, "Same.m4b", owner=FIRST) is None
    finding = renamed(WISH, "Same (aaaaaaaa).m4b", owner=OTHER_PLAN)
    assert finding is not None
    assert finding.severity == "info"
    assert "plan bbbbbbbb of this book" in finding.message
    other = renamed(WISH, "Same - A. Author.m4b", owner=OTHER_BOOK)
    assert other is not None
    assert "book same-22222222" in other.message


def test_what_tells_a_part_survives_a_long_title() -> None:
    """The whole and its first chapter would have one name otherwise, and one owner's book."""
    whole = replace(WISH, title="é" * 300)
    part = replace(whole, ending=chapters_note("1") + ".m4b")
    assert part.plain() != whole.plain()
    assert part.plain().endswith(" (chapter 1).m4b")
    assert len(part.plain().encode()) <= MAX_NAME_BYTES


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda title, author, profile, book, plan: NameWish(
                title=title,
                ending=".m4b",
                owner=Owner(book_id=f"b-{book:08x}", plan_id=f"{plan:016x}"),
                author=author,
                profile=profile,
            ),
            st.sampled_from(["Same", "same", "A/B", "", "x" * 300]),
            st.sampled_from(["", "A. Author", "é" * 90, "../.."]),
            st.sampled_from(["", "acx", "my/profile", "."]),
            st.integers(0, 3),
            st.integers(0, 2**64 - 1),
        ),
        max_size=12,
    )
)
def test_nothing_is_ever_overwritten(wishes: list[NameWish]) -> None:
    there: dict[str, Owner] = {}
    for wish in wishes:
        try:
            name = chosen(wish, there)
        except PublishError:
            continue
        assert there.get(name) in (None, wish.owner)
        assert len(name.encode()) <= MAX_NAME_BYTES
        assert "/" not in name
        there[name] = wish.owner
        assert chosen(wish, there) == name, "the same file goes to the same place"


@pytest.mark.parametrize(
    ("numbers", "want", "note"),
    [
        ([1], "1", " (chapter 1)"),
        ([2, 1, 2], "1-2", " (chapters 1-2)"),
        ([1, 2, 3, 7, 9, 10], "1-3,7,9-10", " (chapters 1-3,7,9-10)"),
        (range(1, 111), "1-110", " (chapters 1-110)"),
        ([], "", ""),
    ],
)
def test_chapters_are_told_as_people_do(numbers: list[int], want: str, note: str) -> None:
    assert chapter_list(numbers) == want
    assert chapters_note(want) == note


def test_two_long_lists_of_chapters_have_two_names() -> None:
    lists = [chapter_list(range(1, 300, 2)), chapter_list([*range(1, 300, 2), 400])]
    notes = [chapters_note(each) for each in lists]
    assert notes[0] != notes[1]
    assert all(len(note) < 100 for note in notes)
    for left, right in itertools.pairwise(notes):
        assert left[:40] == right[:40]
