"""Every book of the test data plans without a word lost, or is refused in one line."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loudr_core.errors import BookError
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.settings import Profile
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore

pytestmark = pytest.mark.slow

Planned = tuple[Plan, list[Job]]
Planner = Callable[[Path], Planned]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planner]:
    """Return a planner over one process of the embedded engine; it plans a book once."""
    store = LocalStore(tmp_path_factory.mktemp("store"))
    spec = EngineSpec(engine="embedded", store_url=store.url, policy={})
    known: dict[Path, Planned | BookError] = {}

    def plan(path: Path) -> Planned:
        if path not in known:
            render = BookRender(
                path,
                profile=Profile(),
                store=store,
                pool=pool,
                options=RenderOptions(),
                cancel=threading.Event(),
            )
            try:
                known[path] = render.plan(), list(render.jobs)
            except BookError as error:
                known[path] = error
        made = known[path]
        if isinstance(made, BookError):
            raise made
        return made

    with EnginePool(spec, size=1, log_dir=tmp_path_factory.mktemp("logs")) as pool:
        yield plan


@pytest.fixture(scope="module")
def epubs(test_data: Path) -> Path:
    return test_data / "epubs"


@pytest.fixture(scope="module")
def expected(epubs: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((epubs / "expected.json").read_text(encoding="utf-8"))
    return found


def test_every_book_plans_or_is_refused_in_one_line(planned: Planner, epubs: Path) -> None:
    files = sorted(epubs.glob("*.epub"))
    assert files
    made = []
    for path in files:
        try:
            plan, jobs = planned(path)
        except BookError as error:
            assert path.name in error.message
            assert "\n" not in error.message
            continue
        made.append(path)
        assert plan.audit["lossless"] is True, path.name
        assert plan.audit["claimed_chars"] == plan.audit["source_chars"], path.name
        assert plan.segments == len(jobs) > 0, path.name
        assert sum(chapter.segments for chapter in plan.chapters) == len(jobs), path.name
        assert all(any(c.isalnum() for c in job.spoken) for job in jobs), path.name
        assert len({job.segment_id for job in jobs}) == len(jobs), path.name
        assert [job.ordinal for job in jobs] == sorted(job.ordinal for job in jobs), path.name
    assert len(made) >= len(files) * 3 // 4, "refusing everything is no way to pass"


def test_chapters_are_as_expected(planned: Planner, epubs: Path, expected: dict[str, Any]) -> None:
    """Titles and blocks in order; a heading that says the title says it once."""
    names = [name for name, rule in expected.items() if "chapters" in rule]
    assert names
    for name in names:
        plan, jobs = planned(epubs / f"{name}.epub")
        got = [
            (chapter.title, "\n".join(job.text for job in jobs if job.chapter == chapter.number))
            for chapter in plan.chapters
        ]
        want = [(title, "\n".join(blocks)) for title, blocks in expected[name]["chapters"]]
        assert got == want, name


def test_texts_are_as_expected(planned: Planner, epubs: Path, expected: dict[str, Any]) -> None:
    names = [name for name, rule in expected.items() if "text" in rule]
    assert names
    for name in names:
        _, jobs = planned(epubs / f"{name}.epub")
        whole = "\n".join(job.text for job in jobs)
        for text in expected[name]["text"]:
            assert text in whole, (name, text)


def test_readings_are_as_expected(planned: Planner, epubs: Path, expected: dict[str, Any]) -> None:
    names = [name for name, rule in expected.items() if "must" in rule]
    assert names
    for name in names:
        _, jobs = planned(epubs / f"{name}.epub")
        spoken = " ".join(job.spoken for job in jobs)
        for words in expected[name]["must"]:
            assert any(each in spoken for each in words.split("|")), (name, words)
        for words in expected[name]["must_not"]:
            assert words not in spoken, (name, words)


def test_what_is_lost_is_said(planned: Planner, epubs: Path, expected: dict[str, Any]) -> None:
    names = [name for name, rule in expected.items() if "findings" in rule]
    assert names
    for name in names:
        plan, _ = planned(epubs / f"{name}.epub")
        assert len(plan.findings) >= len(expected[name]["findings"]), name
        severe = [finding for finding in plan.findings if finding.severity == "error"]
        assert any("Lost" in finding.message for finding in severe), name
