"""A book through every stage, over the engine that speaks in tones."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mutagen.mp4
import numpy as np
import pytest

from loudr_core.errors import BookError, ConfigError, QualityError, StoreError
from loudr_core.jobs import voicing
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.pcm import BookPcm
from loudr_core.render.planning import StoredPlan
from loudr_core.render.result import RenderResult
from loudr_core.render.results import known_plan, read_result, read_results
from loudr_core.render.speak import Interrupted
from loudr_core.settings import LoudnessProfile, OutputProfile, Profile
from loudr_core.speech.orders import audio_key
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came down to the water for a long while after that.

The boats lay still in the harbour until the wind turned in the middle of the night.

## Two

It was the tide. It was only ever the tide, she said to the dog, who knew it well enough.

## Three

In the morning there was nothing on the sand but a rope, a lantern, and one wet glove.
"""
PROFILE = Profile(engine="fake")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return LocalStore(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def pool(store: LocalStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EnginePool]:
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=1, log_dir=tmp_path_factory.mktemp("logs")) as pool:
        yield pool


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def opened(
    source: Path | StoredPlan,
    store: LocalStore,
    pool: EnginePool,
    *,
    profile: Profile = PROFILE,
    cancel: threading.Event | None = None,
    chapters: frozenset[int] | None = None,
    allow_gaps: bool = False,
) -> BookRender:
    return BookRender(
        source,
        profile=profile,
        store=store,
        pool=pool,
        options=RenderOptions(chapters=chapters, allow_gaps=allow_gaps),
        cancel=cancel or threading.Event(),
    )


def rendered(render: BookRender, dest: Path | None) -> RenderResult:
    render.plan()
    for shard in render.shards:
        render.speak(shard)
    return render.publish(dest)


def test_a_book_is_a_file_a_result_and_a_document(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    render = opened(source, store, pool)
    result = rendered(render, tmp_path / "out")
    (file,) = result.files
    path = tmp_path / "out" / "The Harbour.m4b"
    assert file.path == str(path)
    assert file.bytes == path.stat().st_size
    assert file.chapters == 4  # the book's own title is one
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    counts = result.segments
    assert counts.total == len(render.jobs) == counts.rendered + counts.reused
    assert counts.failed == 0
    document = read_result(store, render.plan())
    assert document is not None
    assert document["result"] == json.loads(json.dumps(result.as_dict()))
    assert result.loudness["integrated_lufs"] == pytest.approx(-19.0, abs=0.1)
    assert set(result.stage_s) >= {"plan", "speak", "master"}


def test_a_second_render_speaks_nothing_and_gives_the_same_file(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    first = rendered(opened(source, store, pool), tmp_path / "one")
    second = rendered(opened(source, store, pool), tmp_path / "two")
    assert second.segments.rendered == 0
    assert second.segments.reused == second.segments.total
    assert second.pcm_sha256 == first.pcm_sha256
    assert second.files[0].sha256 == first.files[0].sha256


def test_some_chapters_are_a_file_of_their_own_name(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    render = opened(source, store, pool, chapters=frozenset({2, 4}))
    result = rendered(render, tmp_path / "out")
    assert {job.chapter for job in render.jobs} == {2, 4}
    assert result.files[0].chapters == 2
    (path,) = (tmp_path / "out").iterdir()
    assert path.name == "The Harbour (chapters 2,4).m4b"


def test_a_chapter_that_is_not_there_is_named(
    source: Path, store: LocalStore, pool: EnginePool
) -> None:
    with pytest.raises(ConfigError, match="has no chapter 9: it has 1 to 4"):
        opened(source, store, pool, chapters=frozenset({2, 9})).plan()


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Profile(engine="fake", voice="bass"), "no voice 'bass'"),
        (Profile(engine="fake", detectors={"nonsense": 1.0}), "nonsense"),
    ],
)
def test_a_profile_that_does_not_fit_is_an_error_at_plan(
    source: Path, store: LocalStore, pool: EnginePool, profile: Profile, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        opened(source, store, pool, profile=profile).plan()


def test_a_poison_segment_is_refused_by_name_and_marked_when_allowed(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    source = tmp_path / "poison.md"
    poison = "The fakeerror stood at the end of the pier all night long and said nothing to them."
    source.write_text(TEXT.replace("It was the tide.", poison), encoding="utf-8")
    with pytest.raises(QualityError, match=r"segment c003-s0002 .*fakeerror was in the text"):
        rendered(opened(source, store, pool), tmp_path / "out")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
    result = rendered(opened(source, store, pool, allow_gaps=True), tmp_path / "out")
    (gap,) = [each for each in result.findings if each.code == "render-gap"]
    assert gap.severity == "error"
    assert gap.where["segment_id"] == "c003-s0002"
    assert result.segments.failed == 1
    tags: Any = mutagen.mp4.MP4(tmp_path / "out" / "The Harbour.m4b").tags

    assert "1 passage is missing from the audio: c003-s0002 at " in tags["\xa9cmt"][0]


def test_a_stop_leaves_no_file(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    cancel = threading.Event()
    render = opened(source, store, pool, cancel=cancel)
    render.plan()
    render.master()
    cancel.set()
    with pytest.raises(Interrupted):
        render.publish(tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.m4b"))


def test_a_stop_is_heard_while_the_engine_loads(
    source: Path, store: LocalStore, tmp_path: Path
) -> None:
    cancel = threading.Event()
    spec = EngineSpec(engine="fake", store_url=store.url, policy={}, options={"load_s": 600.0})
    slow = EnginePool(spec, size=1, log_dir=tmp_path / "logs")
    slow.start()
    try:
        threading.Timer(0.5, cancel.set).start()
        with pytest.raises(Interrupted):
            opened(source, store, slow, cancel=cancel).plan()
    finally:
        slow.close(cancel=True)


def test_what_is_heard_is_what_was_planned(
    source: Path, store: LocalStore, pool: EnginePool
) -> None:
    render = opened(source, store, pool)
    layout = render.master().layout
    assert [chapter.number for chapter in layout.chapters] == [1, 2, 3, 4]
    placed = [take.segment_id for chapter in layout.chapters for take in chapter.takes]
    assert placed == [job.segment_id for job in render.jobs]
    pcm = BookPcm(store, layout)
    lead_in = pcm.read(0, layout.chapters[0].takes[0].start)
    assert len(lead_in) == 12_000
    assert not lead_in.any()
    for job, take in zip(render.jobs, (t for c in layout.chapters for t in c.takes), strict=True):
        assert abs(take.pause_samples - job.pause_after_ms * 24) <= 240
        assert not pcm.read(take.end, take.pause_samples).any()
        assert np.abs(pcm.read(take.start, take.n_samples)).max() > 0.05


def test_every_chapter_ends_in_one_shard(source: Path, store: LocalStore, pool: EnginePool) -> None:
    render = opened(source, store, pool)
    render.plan()
    last = render.last_shards()
    assert set(last) == {1, 2, 3, 4}
    assert max(last.values()) == render.shards[-1].number


def test_every_setting_is_part_of_the_plan_and_takes_are_shared(
    source: Path, store: LocalStore, pool: EnginePool
) -> None:
    """Whoever comes back to a plan finds its loudness too; nothing is spoken twice for that."""
    loudness = LoudnessProfile(target_lufs=-21.0)
    others = [
        Profile(engine="fake", output=OutputProfile(bit_rate=64_000)),
        Profile(engine="fake", attempts=2),
        Profile(engine="fake", detectors={"clip_level": 0.9}),
        Profile(engine="fake", loudness=loudness),
    ]
    first = opened(source, store, pool)
    renders = [opened(source, store, pool, profile=profile) for profile in others]
    ids = {render.plan().plan_id for render in (first, *renders)}
    assert len(ids) == len(others) + 1
    for render in renders:
        assert [o.job_key for o in render.orders] == [o.job_key for o in first.orders]
    plan = renders[-1].plan()
    assert Profile.model_validate(plan.profile).loudness == loudness


def test_a_stored_plan_is_rendered_without_its_file(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    profile = Profile(engine="fake", loudness=LoudnessProfile(target_lufs=-22.0))
    first = rendered(opened(source, store, pool, profile=profile), tmp_path / "one")
    source.unlink()
    kept = StoredPlan(book_id=first.book_id, plan_id=first.plan_id)
    known = known_plan(store, kept.book_id, kept.plan_id)
    assert known is not None
    again = opened(kept, store, pool, profile=Profile.model_validate(known.plan.profile))
    assert again.label == first.book_id
    second = rendered(again, tmp_path / "two")
    assert second.files[0].sha256 == first.files[0].sha256
    assert second.loudness["integrated_lufs"] == pytest.approx(-22.0, abs=0.1)
    gone = StoredPlan(book_id=first.book_id, plan_id="0" * 16)
    with pytest.raises(StoreError, match="is gone: render the book's file again"):
        opened(gone, store, pool).plan()


def test_a_part_keeps_its_own_result_and_gain(
    source: Path, pool: EnginePool, store: LocalStore, tmp_path: Path
) -> None:
    """What a taste was levelled to does not move the whole book."""
    fresh = Profile(engine="fake", book_seed=1234)
    part = rendered(
        opened(source, store, pool, profile=fresh, chapters=frozenset({2, 3})), tmp_path
    )
    whole = rendered(opened(source, store, pool, profile=fresh), tmp_path)
    plan = opened(source, store, pool, profile=fresh).plan()
    assert (part.chapters, whole.chapters) == ((2, 3), None)
    documents = read_results(store, plan)
    assert [document["result"]["chapters"] for document in documents] == [[2, 3], None]
    latest = read_result(store, plan)
    assert latest is not None
    assert latest["dest"] == str(tmp_path)
    gains = {key.rpartition("/")[2] for key in store.list(f"{plan.folder}/gain")}
    assert gains == {"gain.json", "gain-2-3.json"}


def test_all_chapters_are_the_whole_book(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    render = opened(source, store, pool, chapters=frozenset({1, 2, 3, 4}))
    result = rendered(render, tmp_path / "out")
    assert result.chapters is None
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["The Harbour.m4b"]


def test_what_the_voice_cannot_read_is_refused_before_it_is_tried(
    store: LocalStore, pool: EnginePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        voicing,
        "unreadable",
        lambda engine, text, language: "no letter of it" if "fakeerror" in text else "",
    )
    source = tmp_path / "greek.md"
    greek = "The fakeerror stood at the end of the pier all night long and said nothing to them."
    source.write_text(TEXT.replace("It was the tide.", greek), encoding="utf-8")
    profile = Profile(engine="fake", book_seed=99)
    render = opened(source, store, pool, profile=profile)
    assert list(render.plan().unreadable) == ["c003-s0002"]
    with pytest.raises(QualityError, match=r"cannot say segment c003-s0002, with any seed: no let"):
        render.start_speaking()
    assert render.progress.now().total == 0, "nothing was given to the engine"
    rendered(opened(source, store, pool, profile=profile, chapters=frozenset({2})), tmp_path)
    allowed = opened(source, store, pool, profile=profile, allow_gaps=True)
    assert rendered(allowed, tmp_path).segments.failed == 1


def test_the_book_itself_is_kept(source: Path, store: LocalStore, pool: EnginePool) -> None:
    plan = opened(source, store, pool).plan()
    assert store.get(f"books/{plan.book_id}/source.md") == source.read_bytes()


def test_a_take_that_went_missing_is_spoken_again(
    source: Path, store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    render = opened(source, store, pool)
    first = rendered(render, tmp_path / "one")
    gone = render.choices[render.orders[3].job_key]
    store.delete(audio_key(gone.take_key))
    second = rendered(opened(source, store, pool), tmp_path / "two")
    assert second.segments.rendered == 1
    assert second.pcm_sha256 == first.pcm_sha256
    assert second.files[0].sha256 == first.files[0].sha256


def test_no_such_book(store: LocalStore, pool: EnginePool, tmp_path: Path) -> None:
    with pytest.raises(BookError, match="no such file"):
        opened(tmp_path / "gone.epub", store, pool).plan()
