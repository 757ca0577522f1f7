import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loudr_core.speech.passes import cut_passes, join_passes


def test_short_text_is_one_pass() -> None:
    assert cut_passes(" həlˈO. ", 350) == ["həlˈO."]
    assert cut_passes("  ", 350) == []


def test_the_strongest_central_mark_is_cut_at() -> None:
    assert cut_passes("wʌn tu, θɹi fɔɹ. fIv sɪks, sˈɛvən At", 30) == [
        "wʌn tu, θɹi fɔɹ.",
        "fIv sɪks, sˈɛvən At",
    ]
    assert cut_passes("aa aaa aaaa, bbb bbb bbb bbb", 20) == ["aa aaa aaaa,", "bbb bbb bbb bbb"]


def test_a_closing_quote_stays_with_its_sentence() -> None:
    left, right = cut_passes("“aaa bbb ccc.” ddd eee fff", 20)
    assert left == "“aaa bbb ccc.”"
    assert right == "ddd eee fff"


def test_a_mark_far_from_the_middle_is_left_alone() -> None:
    passes = cut_passes("no. " + "aaa " * 20, 60)
    assert min(map(len, passes)) > 20


@given(st.text(alphabet="ab .,;’ ", max_size=300), st.integers(2, 60))
def test_nothing_is_lost_and_nothing_too_long(text: str, limit: int) -> None:
    passes = cut_passes(text, limit)
    assert all(0 < len(each) <= limit for each in passes)
    assert "".join(passes).replace(" ", "") == text.replace(" ", "")


def test_passes_are_joined_with_the_silence_after_each_but_the_last() -> None:
    loud = np.full(24_000, 0.5, np.float32)
    joined = join_passes([loud, -loud, loud], 24_000, pauses_s=[0.1, 0.25, 9.0])
    assert joined.dtype == np.float32
    assert len(joined) == 3 * 24_000 + 2_400 + 6_000
    assert not joined[24_000:26_400].any()
    assert (joined[30_000:46_000] == -0.5).all()
    assert not joined[50_400:56_400].any()


def test_a_single_pass_keeps_its_edges() -> None:
    quiet = np.zeros(24_000, np.float32)
    assert join_passes([quiet], 24_000, pauses_s=[0.1]) is quiet
