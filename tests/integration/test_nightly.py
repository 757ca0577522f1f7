"""Nights and re-renders on the farm: as schedules and forms start them."""

import json
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loudr_core.jobs.plan import find_plans, load_plan
from loudr_core.jobs.standing import latest_choices
from loudr_core.speech.orders import Choice
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore


def chosen(store: ObjectStore, book_id: str) -> dict[str, Choice]:
    """Return segment id to its choice, of the one plan of a book."""
    (plan_id,) = find_plans(store, book_id)
    loaded = load_plan(store, book_id, plan_id)
    assert loaded is not None
    return dict(latest_choices(store, *loaded))


def versions(store: ObjectStore, prefix: str) -> dict[str, str]:
    return {entry.key: entry.version for entry in store.entries(prefix)}


def test_a_night_and_then_another_seed(
    farm: Any, bucket: str, tone_book: Callable[..., Path]
) -> None:
    """Of four declared books two are good; then one segment of one is spoken again."""
    books, shelf = open_store(f"s3://{bucket}/books"), open_store(f"s3://{bucket}/finished")
    store = open_store(f"s3://{bucket}/store")
    for name, priority in (("first", 90), ("second", 10)):
        path = tone_book(chapters=2, paragraphs=3, title=f"The {name.title()}")
        books.put(f"{name}.md", path.read_bytes())
        declared = f'source = "{books.url}/{name}.md"\npriority = {priority}\n'
        books.put(f"{name}.toml", declared.encode())
    books.put("broken.toml", b"[[")
    books.put("gone.toml", f'source = "{books.url}/nowhere.epub"'.encode())
    request = {"manifests": books.url, "dest": shelf.url, "store": store.url, "until": None}

    run = farm.run("nightly", **request)
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "With failures")
    assert run["state"]["message"] == "2 done, 2 refused"
    assert sorted(shelf.list("")) == ["The First.m4b", "The Second.m4b"]
    renders = [each["name"] for each in farm.runs_of("render-book")]
    assert renders[-2:] == ["render first", "render second"], "the highest priority first"
    text = json.dumps(
        farm.ask("artifacts/filter", artifacts={"key": {"any_": ["nightly-summary"]}})
    )
    assert "The night: 2 done, 2 refused" in text

    before = versions(store, "")
    run = farm.run("nightly", **request)
    assert run["state"]["message"] == "2 done before, 2 refused"
    assert versions(store, "") == before, "nothing is done twice"

    (book_id,) = {key.split("/")[1] for key in before if key.startswith("books/the-first")}
    takes, files = chosen(store, book_id), versions(shelf, "")
    segment = sorted(takes)[1]
    run = farm.run(
        "rerender",
        book_id=book_id,
        segments=[segment],
        seed=str(2**64 - 1),
        store=store.url,
    )
    assert run["state_type"] == "COMPLETED", run["state"]["message"]
    after = chosen(store, book_id)
    changed = {name for name in takes if after[name].pcm_sha256 != takes[name].pcm_sha256}
    assert changed == {segment}
    assert after[segment].seed == 2**64 - 1
    spoken = versions(store, "audio/").keys() - {k for k in before if k.startswith("audio/")}
    assert len(spoken) == 1
    now = versions(shelf, "")
    assert {name for name in now if now[name] != files.get(name)} == {"The First.m4b"}


def test_what_a_form_refuses(farm: Any) -> None:
    """The server refuses what it can see; the run refuses the rest in one line."""
    for wrong in (
        {"request": {"book_id": "x", "sed": "7"}},
        {"request": {"book_id": "x", "seed": 7}},
        {"request": {"book_id": "x", "seed": "-7"}},
        {"request": {"book_id": ""}},
        {"request": {"book_id": "x"}, "oops": 1},
    ):
        (found,) = farm.ask(
            "deployments/filter", deployments={"name": {"any_": ["rerender"]}}, limit=1
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            farm.ask(f"deployments/{found['id']}/create_flow_run", parameters=wrong)
        with caught.value as answer:
            assert answer.code in (409, 422)
    empty = farm.place / "empty"
    for missing in (f"no store at {empty}", "no book 'no-such-book' in the store"):
        run = farm.run(
            "rerender", book_id="no-such-book", segments=["c001-s0001"], store=str(empty)
        )
        assert run["state_type"] == "FAILED"
        assert missing in run["state"]["message"]
        assert "Traceback" not in run["state"]["message"]
        empty.mkdir(exist_ok=True)
