"""The yardsticks measure what they say: folding, the independent reading, the spread."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "the-lamp-at-skerry-head.epub"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    yield importlib.import_module("bench_asr")


@pytest.mark.parametrize(
    ("book", "heard"),
    [
        ("“It’s grey,” said Mr. Reeve.", "it's gray said mister reeve"),
        ("At 4:11 a.m. on the 25th", "at four eleven am on the twenty-fifth"),
        ("the colour of the neighbours’ theatre", "the color of the neighbors theater"),
        ("£1,250, up by 12.5 per cent", "1250 pounds up by 12.5%"),
        ("since about 1886", "since about eighteen eighty-six"),
        ("north-west and to-day", "northwest and today"),
    ],
)
def test_what_sounds_equal_folds_to_one(bench: ModuleType, book: str, heard: str) -> None:
    assert bench.folded(book) == bench.folded(heard)


@pytest.mark.parametrize(("book", "heard"), [("142", "143"), ("the step", "a step")])
def test_what_differs_stays_apart(bench: ModuleType, book: str, heard: str) -> None:
    assert bench.folded(book) != bench.folded(heard)


def test_the_listener_explains_itself_before_it_is_installed(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    monkeypatch.setattr(sys, "argv", ["bench_asr.py", "--help"])
    with pytest.raises(SystemExit) as left:
        bench.main()
    assert left.value.code == 0
    assert "m4b" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["bench_asr.py", "gone.epub", "gone.m4b"])
    with pytest.raises(SystemExit):
        bench.main()
    assert "no such file: gone.epub" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["bench_asr.py", str(SAMPLE), str(SAMPLE)])
    with pytest.raises(SystemExit, match="jiwer is not here; make bench-asr installs it"):
        bench.main()


def test_chapters_that_share_a_document_are_cut_at_their_anchors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    texts = importlib.import_module("source_text").chapter_texts(SAMPLE)
    assert texts["part two the dark"] == "Part Two: The Dark"
    third, fourth = texts["iii what the boat brought"], texts["iv the last entry"]
    assert third.startswith("III. What the Boat Brought The supply boat")
    assert third.endswith("They agreed about nothing else.")
    assert fourth.startswith("IV. The Last Entry They lit")
    assert fourth.endswith("go up again.")


def test_the_marks_that_call_notes_are_not_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    texts = importlib.import_module("source_text").chapter_texts(SAMPLE)
    assert "fifteen seconds. “Then" in texts["i the keeper s arithmetic"]


def test_spread_says_median_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    found = importlib.import_module("measuring").spread([3.0, 1.0, 2.0004])
    assert found == {"median": 2.0, "low": 1.0, "high": 3.0, "all": [3.0, 1.0, 2.0]}
