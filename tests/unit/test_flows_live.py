"""Renders under way are found by name; records are drained before the server stops."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from flows import live
from loudr_core.render.book import BookRender
from loudr_core.render.result import RenderResult

RENDER = cast(BookRender, object())


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_runs", {})


def test_a_render_is_found_while_it_lasts() -> None:
    stages: list[str] = []
    with live.registered("one", RENDER, stages.append):
        found = live.find("one")
        assert found is not None
        assert found.render is RENDER
        found.on_stage("speaking")
    assert live.find("one") is None
    assert stages == ["speaking"]


def test_it_is_forgotten_after_an_error() -> None:
    with pytest.raises(KeyError), live.registered("one", RENDER, lambda stage: None):
        raise KeyError
    assert live.find("one") is None


def test_a_result_is_there_when_the_flow_left_one() -> None:
    with live.registered("one", RENDER, lambda stage: None):
        with pytest.raises(ValueError, match="no finished render 'one'"):
            live.result_of("one")
        found = live.find("one")
        assert found is not None
        found.result = result = cast(RenderResult, object())
        assert live.result_of("one") is result
    with pytest.raises(ValueError, match="no finished render 'two'"):
        live.result_of("two")


@pytest.mark.parametrize(("count", "want"), [(0, False), (8, False), (9, True), (12, True)])
def test_records_are_complete_when_every_task_run_is_there(count: int, want: bool) -> None:
    live.note_run("a", 5)
    live.note_run("b", 4)
    asked: list[list[str]] = []

    def count_of(runs: list[str]) -> int:
        asked.append(runs)
        return count

    assert live.recorded(count_of) is want
    assert asked == [["a", "b"]]


def test_without_runs_there_is_nothing_to_ask() -> None:
    never: Callable[[list[str]], int] = lambda runs: 1 // 0  # noqa: E731 - a value of this type
    assert live.recorded(never)


def test_a_server_that_does_not_answer_is_not_complete() -> None:
    live.note_run("a", 1)

    def refused(runs: list[str]) -> int:
        raise ConnectionRefusedError

    assert not live.recorded(refused)


def test_two_books_of_one_name_are_two_renders(tmp_path: Path) -> None:
    with (
        live.registered("one", RENDER, lambda stage: None),
        live.registered("two", cast(BookRender, tmp_path), lambda stage: None),
    ):
        one, two = live.find("one"), live.find("two")
        assert one is not None
        assert two is not None
        assert one.render is not two.render
