"""Three books are dropped into a bucket: a good one, a broken one, and one that still arrives."""

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

SAMPLE = Path(__file__).parents[2] / "examples" / "the-lamp-at-skerry-head.epub"
SETTLE_S = 8.0


@contextmanager
def arriving(store: ObjectStore, key: str, data: bytes) -> Iterator[None]:
    """Have an object grow while the block runs, and be whole after it."""
    done = threading.Event()

    def grow() -> None:
        part = 1
        while not done.wait(1.0):
            store.put(key, data[: len(data) * part // (part + 1)])
            part += 1

    store.put(key, data[:100])
    thread = threading.Thread(target=grow, daemon=True)
    thread.start()
    yield
    done.set()
    thread.join()
    store.put(key, data)


def test_three_books_are_dropped(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    inbox, shelf = open_store(f"s3://{bucket}/inbox"), open_store(f"s3://{bucket}/finished")
    ledger = open_store(f"s3://{bucket}/store")
    request = {
        "watch": inbox.url, "dest": shelf.url, "store": ledger.url, "settle_s": SETTLE_S,
    }  # fmt: skip
    good = tone_book(chapters=2, paragraphs=5, title="Good Tones")
    inbox.put("good.md", good.read_bytes())
    inbox.put("broken.epub", SAMPLE.read_bytes()[:5000])
    earlier = {run["id"] for run in farm.runs_of("render-dropped")}

    def rendered() -> list[dict[str, Any]]:
        found = [run for run in farm.runs_of("render-dropped") if run["id"] not in earlier]
        return list(farm.ended(*(run["id"] for run in found)))

    def poll() -> list[dict[str, Any]]:
        assert farm.run("drop-folder", **request)["state_type"] == "COMPLETED"
        return rendered()

    with arriving(inbox, "late.epub", SAMPLE.read_bytes()):
        threading.Event().wait(SETTLE_S)
        assert len(poll()) == 2, "what still arrives is left alone"
        assert inbox.get("late.epub.status.json") is None
    threading.Event().wait(SETTLE_S)
    assert len(poll()) == 3

    says = {
        name: json.loads(inbox.get(f"{name}.status.json") or b"{}")
        for name in ("good.md", "broken.epub", "late.epub")
    }
    assert says["broken.epub"]["state"] == "refused"
    assert "zip" in says["broken.epub"]["reason"].lower(), says["broken.epub"]["reason"]
    local = tmp_path / "late.epub"
    shutil.copy(SAMPLE, local)
    for name, path in (("good.md", good), ("late.epub", local)):
        said = says[name]
        assert said["state"] == "done", said
        here = loudr(
            "render", path, "--store", tmp_path / "here", "-o", tmp_path / "out", "--json",
            LOUDR_EXECUTOR="inline", LOUDR_WORKERS="2",
        ).finish().json  # fmt: skip
        assert said["pcm_sha256"] == here["pcm_sha256"]
        (file,) = said["files"]
        delivered = shelf.get(file["path"].rpartition("/")[2])
        assert delivered is not None
        assert hashlib.sha256(delivered).hexdigest() == file["sha256"] == here["files"][0]["sha256"]
    assert len(list(shelf.list(""))) == 2

    kinds = [key.rpartition(".")[2] for key in ledger.list("ledger/drop/")]
    kinds = [kind for kind in kinds if kind != "seen"]  # of versions that were still to grow
    assert sorted(kinds) == ["claim"] * 3 + ["done"] * 3 + ["submitted"] * 3
    before = {entry.key: entry.version for entry in ledger.entries("")}
    assert len(poll()) == 3, "there is nothing new"
    assert {entry.key: entry.version for entry in ledger.entries("")} == before
