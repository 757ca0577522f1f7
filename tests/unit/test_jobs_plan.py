"""A plan is made once, found again, and refused when it would be spoken by something else."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from loudr_core.book.model import Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError, BundleError, StoreError
from loudr_core.jobs import plan as plans
from loudr_core.jobs.keys import choice_key
from loudr_core.jobs.orders import make_orders, override_keys
from loudr_core.jobs.overrides import next_seed, read_overrides, write_override
from loudr_core.jobs.plan import (
    Plan,
    PlanRequest,
    Speaker,
    book_id_of,
    find_books,
    find_plans,
    load_plan,
    plan_book,
    plan_id_of,
)
from loudr_core.jobs.standing import latest_choices, standing_of
from loudr_core.jobs.table import Job, read_jobs, write_jobs
from loudr_core.testing import MemoryStore
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import TextOptions

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came. "Who is there?" she asked.

The boats lay still in the harbour until the wind turned in the night.

## Two

It was the tide. It was only ever the tide, she said to the dog, who knew.
"""
SPEAKER = Speaker(
    engine="fake",
    voice="low",
    voice_sha256="v",
    fingerprint="f" * 64,
    sample_rate_hz=24_000,
    languages=frozenset({"en", "de"}),
    max_characters=400,
    target_characters=120,
    seconds_per_character=(0.04, 0.09),
)
REQUEST = PlanRequest(
    profile={"engine": "fake", "voice": "low"},
    text=TextOptions(max_characters=400, target_characters=120),
    lexicon=Lexicon({}),
    speaker=SPEAKER,
    book_seed=7,
    speed=1.0,
)


def as_stored(made: tuple[Plan, list[Job]]) -> tuple[Plan, list[Job]]:
    """Return a plan with its numbers as the table keeps them, in single precision."""
    return made[0], read_jobs(write_jobs(made[1]))


def book_of(folder: Path, text: str = TEXT) -> Book:
    path = folder / "harbour.md"
    path.write_text(text, encoding="utf-8")
    return read_book(path)


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return book_of(tmp_path)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_a_stored_plan_is_used_again(
    book: Book, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = as_stored(plan_book(book, REQUEST, store))
    monkeypatch.setattr(plans, "segment_book", None)  # would raise if it were called
    assert plan_book(book, REQUEST, store) == made
    assert load_plan(store, made[0].book_id, made[0].plan_id) == made
    with pytest.raises(TypeError):
        plan_book(book, REQUEST, store, replan=True)


def test_books_and_plans_are_found(book: Book, store: MemoryStore) -> None:
    first, jobs = plan_book(book, REQUEST, store)
    other = replace(REQUEST, profile={**REQUEST.profile, "speed": 1.2})
    second, _ = plan_book(book, other, store)
    assert find_books(store) == [first.book_id]
    assert set(find_plans(store, first.book_id)) == {first.plan_id, second.plan_id}
    assert standing_of(latest_choices(store, first, jobs), jobs).as_dict() == {
        "total": len(jobs),
        "done": 0,
        "suspect": 0,
        "failed": 0,
        "left": len(jobs),
    }


@pytest.mark.parametrize(
    "changed",
    [
        replace(REQUEST, profile={"engine": "fake", "voice": "low", "speed": 2}),
        replace(REQUEST, lexicon=Lexicon({"dusk": "dusck"})),
        replace(REQUEST, speaker=replace(SPEAKER, voice="high")),
        replace(REQUEST, given={"language": "de"}),
    ],
)
def test_what_moves_words_or_seeds_moves_the_plan_id(changed: PlanRequest) -> None:
    assert plan_id_of("source", changed) != plan_id_of("source", REQUEST)
    assert plan_id_of("other", REQUEST) != plan_id_of("source", REQUEST)


def test_the_fingerprint_is_no_part_of_the_plan_id() -> None:
    """Other weights meet the stored plan, and are refused, rather than start anew in silence."""
    other = replace(REQUEST, speaker=replace(SPEAKER, fingerprint="e" * 64))
    assert plan_id_of("source", other) == plan_id_of("source", REQUEST)


def test_of_what_nothing_was_spoken_is_planned_anew_for_other_weights(
    book: Book, store: MemoryStore
) -> None:
    plan_book(book, REQUEST, store)
    other = replace(REQUEST, speaker=replace(SPEAKER, fingerprint="e" * 64))
    plan, jobs = plan_book(book, other, store)
    assert plan.fingerprint == "e" * 64
    found = load_plan(store, plan.book_id, plan.plan_id)
    assert found is not None
    assert found[0] == plan
    assert [job.job_key for job in found[1]] == [job.job_key for job in jobs]


@pytest.mark.parametrize("spoken", [0, -1])
def test_other_weights_are_refused_until_replanned(
    book: Book, store: MemoryStore, spoken: int
) -> None:
    first, jobs = plan_book(book, REQUEST, store)
    store.put(choice_key(jobs[spoken].job_key, "0" * 64), b"a choice")
    other = replace(REQUEST, speaker=replace(SPEAKER, fingerprint="e" * 64))
    with pytest.raises(BundleError, match=r"ffffffffffff.*eeeeeeeeeeee.*--replan"):
        plan_book(book, other, store)
    second, again = plan_book(book, other, store, replan=True)
    assert second.fingerprint == "e" * 64
    assert {job.job_key for job in jobs}.isdisjoint(job.job_key for job in again)
    assert [job.seed for job in again] == [job.seed for job in jobs]
    assert plan_book(book, other, store) == as_stored((second, again))
    assert first.plan_id == second.plan_id


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"version": "plan-2"}'])
def test_a_damaged_plan_says_what_to_do(book: Book, store: MemoryStore, damage: bytes) -> None:
    made, jobs = plan_book(book, REQUEST, store)
    store.put(f"{made.folder}/plan.json", damage)
    with pytest.raises(StoreError, match=r"damaged.*--replan"):
        plan_book(book, REQUEST, store)
    assert plan_book(book, REQUEST, store, replan=True) == (made, jobs)


def test_a_plan_of_another_loudr_says_what_to_do(book: Book, store: MemoryStore) -> None:
    made, _ = plan_book(book, REQUEST, store)
    key = f"{made.folder}/plan.json"
    store.put(key, (store.get(key) or b"").replace(b'"plan-2"', b'"plan-9"'))
    with pytest.raises(StoreError, match=r"plan-9.*--replan"):
        plan_book(book, REQUEST, store)


def test_a_plan_without_its_table_is_no_plan(book: Book, store: MemoryStore) -> None:
    made, jobs = plan_book(book, REQUEST, store)
    store.delete(f"{made.folder}/jobs.parquet")
    assert load_plan(store, made.book_id, made.plan_id) is None
    assert plan_book(book, REQUEST, store) == (made, jobs)


def test_the_document_is_written_last(book: Book, store: MemoryStore) -> None:
    """A crash between the two leaves a table, which counts for nothing."""
    written: list[str] = []

    class Watched(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            written.append(key.rpartition("/")[2])
            super().put(key, data)

    plan_book(book, REQUEST, Watched())
    assert written[-2:] == ["jobs.parquet", "plan.json"]


def test_a_book_in_another_language_is_refused_with_what_to_do(
    book: Book, store: MemoryStore
) -> None:
    speaker = replace(SPEAKER, languages=frozenset({"ja", "ko"}))
    with pytest.raises(BookError, match=r"in 'en'.*'fake' speaks ja, ko: choose another engine"):
        plan_book(book, replace(REQUEST, speaker=speaker), store)
    assert list(store.list("")) == []


def test_a_passage_in_another_language_is_a_finding(store: MemoryStore, tmp_path: Path) -> None:
    page = (
        "<html xmlns='http://www.w3.org/1999/xhtml' xml:lang='en'><head><title>t</title></head>"
        "<body><h1>One</h1><p>The lamp was lit at dusk, and nobody came to the harbour.</p>"
        "<p xml:lang='cy'>Nos da i chi.</p></body></html>"
    )
    plan, jobs = plan_book(book_of_page(tmp_path, page), REQUEST, store)
    (finding,) = [each for each in plan.findings if each.code == "plan-language"]
    assert finding.severity == "warning"
    assert finding.where["language"] == "cy"
    welsh = next(job for job in jobs if "Nos da" in job.text)
    assert welsh.language == "en", "the engine is asked for a language that it speaks"


def book_of_page(folder: Path, page: str) -> Book:
    """Return the book of one XHTML page."""
    package = (
        "<package xmlns='http://www.idpf.org/2007/opf' version='3.0' unique-identifier='i'>"
        "<metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:identifier id='i'>x"
        "</dc:identifier><dc:title>Page</dc:title><dc:language>en</dc:language></metadata>"
        "<manifest><item id='p' href='p.xhtml' media-type='application/xhtml+xml'/></manifest>"
        "<spine><itemref idref='p'/></spine></package>"
    )
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' version='1.0'>"
        "<rootfiles><rootfile full-path='o.opf' media-type='application/oebps-package+xml'/>"
        "</rootfiles></container>"
    )
    path = folder / "page.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("o.opf", package)
        archive.writestr("p.xhtml", page)
    return read_book(path)


@pytest.mark.parametrize(
    ("title", "want"),
    [
        ("The Time Machine", "the-time-machine-01234567"),
        ("Œuvres complètes!", "uvres-completes-01234567"),
        ("日本", "book-01234567"),
        ("../../etc/passwd", "etc-passwd-01234567"),
        ("x" * 99, "x" * 48 + "-01234567"),
    ],
)
def test_a_book_id_is_safe_and_readable(title: str, want: str) -> None:
    assert book_id_of(title, "0123456789") == want


def test_an_override_is_found_while_its_words_and_neighbours_stay(
    store: MemoryStore, tmp_path: Path
) -> None:
    plan, jobs = plan_book(book_of(tmp_path), REQUEST, store)
    assert read_overrides(store, plan, jobs) == {}
    chosen = jobs[2]
    write_override(store, plan, jobs, {chosen.segment_id: 2**64 - 1})
    assert read_overrides(store, plan, jobs) == {chosen.segment_id: 2**64 - 1}
    louder = replace(REQUEST, profile={**REQUEST.profile, "speed": 1.1})
    other, again = plan_book(book_of(tmp_path), louder, store)
    assert read_overrides(store, other, again) == {chosen.segment_id: 2**64 - 1}


def test_an_override_moves_only_its_own_order(book: Book, store: MemoryStore) -> None:
    plan, jobs = plan_book(book, REQUEST, store)

    def orders(overrides: dict[str, int]) -> dict[str, str]:
        made = make_orders(plan, jobs, policy_digest="d" * 64, attempts=3, overrides=overrides)
        return {order.id: order.job_key for order in made}

    chosen = jobs[1].segment_id
    before, after = orders({}), orders({chosen: 5})
    assert {name for name in before if before[name] != after[name]} == {chosen}
    assert before == {job.segment_id: job.job_key for job in jobs}
    assert orders({chosen: jobs[1].seed}) == before


def test_attempts_have_seeds_and_takes_of_their_own(book: Book, store: MemoryStore) -> None:
    plan, jobs = plan_book(book, REQUEST, store)
    (order, *_) = make_orders(plan, jobs, policy_digest="d" * 64, attempts=3)
    assert [each.number for each in order.attempts] == [0, 1, 2]
    assert order.attempts[0].take_key == order.job_key
    assert len({each.seed for each in order.attempts}) == 3
    assert len({each.take_key for each in order.attempts}) == 3


def test_equal_words_with_other_neighbours_have_overrides_of_their_own(
    store: MemoryStore, tmp_path: Path
) -> None:
    text = "# B\n\n" + "\n\n".join(
        f"The {word} went out over the long grey water that evening, and the tide with it, so far "
        "as anyone could tell.\n\nNobody answered her at all, though she called three times "
        "across the yard and then once more from the gate."
        for word in ("lamp", "boat", "child")
    )
    _, jobs = plan_book(book_of(tmp_path, text), REQUEST, store)
    same = [job for job in jobs if job.spoken.startswith("Nobody answered")]
    assert len(same) == 3
    assert len({job.job_key for job in same}) == 1
    keys = override_keys(jobs)
    assert len({keys[job.segment_id] for job in same}) == 3


def test_a_damaged_override_is_named(book: Book, store: MemoryStore) -> None:
    plan, jobs = plan_book(book, REQUEST, store)
    write_override(store, plan, jobs, {jobs[0].segment_id: 5})
    (key,) = store.list(f"books/{plan.book_id}/overrides/")
    store.put(key, b"five")
    with pytest.raises(StoreError, match=f"{key} is no seed; delete it"):
        read_overrides(store, plan, jobs)


def test_each_rerender_has_a_fresh_seed(book: Book, store: MemoryStore) -> None:
    plan, jobs = plan_book(book, REQUEST, store)
    job = jobs[0]
    (order, *_) = make_orders(plan, jobs, policy_digest="d" * 64, attempts=3)
    used = {attempt.seed for attempt in order.attempts}
    seed = job.seed
    for _ in range(20):
        seed = next_seed(job, seed)
        assert seed not in used
        used.add(seed)
    assert next_seed(job, 12345) not in {attempt.seed for attempt in order.attempts}
