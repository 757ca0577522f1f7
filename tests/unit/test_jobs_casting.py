"""Rules that give chapters away: what they match, and what cannot be meant for a book."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.model import Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError, BundleError, ConfigError, StoreError
from loudr_core.jobs.casting import (
    CastRule,
    CastVoice,
    Speaker,
    cast_voice,
    check_cast,
    master_rate,
    parse_chapters,
)
from loudr_core.jobs.keys import choice_key
from loudr_core.jobs.orders import cut_shards, make_orders
from loudr_core.jobs.plan import (
    Plan,
    PlanRequest,
    check_fingerprint,
    load_plan,
    plan_book,
    plan_id_of,
)
from loudr_core.testing import MemoryStore
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import TextOptions

TEXT = """# One

The lamp was lit at dusk, and nobody came. "Who is there?" she asked.

# Letter from Ines

The boats lay still in the harbour until the wind turned in the night.

# Three

It was the tide. It was only ever the tide, she said to the dog, who knew.
"""
NARRATOR = Speaker(
    engine="fake",
    voice="low",
    voice_sha256="1" * 64,
    fingerprint="f" * 64,
    sample_rate_hz=24_000,
    languages=frozenset({"en"}),
    max_characters=400,
    target_characters=120,
    seconds_per_character=(0.04, 0.08),
)
AUNT = replace(
    NARRATOR, engine="other", voice="high", fingerprint="a" * 64, sample_rate_hz=22_050,
    max_characters=30, target_characters=20, seconds_per_character=(0.08, 0.16),
)  # fmt: skip
OPTIONS = TextOptions(max_characters=400, target_characters=120)


def cast(**changes: Any) -> CastVoice:
    speaker = replace(AUNT, **changes)
    text = replace(OPTIONS, max_characters=30, target_characters=20)
    return CastVoice(speaker=speaker, text=text, speed=0.5, policy_digest="p" * 64)


REQUEST = PlanRequest(
    profile={},
    text=OPTIONS,
    lexicon=Lexicon({}),
    speaker=NARRATOR,
    book_seed=7,
    speed=1.0,
    policy_digest="n" * 64,
)
MIXED = replace(
    REQUEST,
    profile={"voices": ["aunt"]},
    cast={"aunt": cast()},
    rules=(CastRule(voice="aunt", title="letter *"),),
)


@dataclass(frozen=True)
class Chapter:
    number: int
    title: str


CHAPTERS = [Chapter(1, "One"), Chapter(2, "Letter from  Ines"), Chapter(3, "Three [draft]")]


@pytest.fixture
def book(tmp_path: Path) -> Book:
    path = tmp_path / "book.md"
    path.write_text(TEXT, encoding="utf-8")
    return read_book(path)


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("One", [1]),
        ("one", [1]),
        ("On", []),
        ("letter*", [2]),
        ("LETTER from ines", [2]),
        ("*e*", [1, 2, 3]),
        ("Thre? [[]draft]", [3]),
        ("?ne", [1]),
    ],
)
def test_a_pattern_is_held_against_whole_titles(pattern: str, numbers: list[int]) -> None:
    rule = CastRule(voice="aunt", title=pattern)
    assert [each.number for each in CHAPTERS if rule.covers(each.number, each.title)] == numbers


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([CastRule(voice="a", chapters=frozenset({3, 4}), said="3-4")],
         "[[cast]] chapters 3-4: there is no chapter 4, the book has 1 to 3"),
        ([CastRule(voice="a", title="Two")],
         "[[cast]] title 'Two' matches no chapter: titles are 'One', 'Letter from  Ines'"),
        ([CastRule(voice="a", chapters=frozenset({1, 2}), said="1-2"),
          CastRule(voice="b", title="letter*")],
         "chapters 1-2 and title 'letter*' both match chapter 2"),
        ([CastRule(voice="a", title="T*"), CastRule(voice="a", title="T*")],
         "title 'T*' and title 'T*' both match chapter 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line(rules: list[CastRule], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_cast(rules, CHAPTERS)
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_each_chapter_has_the_one_voice_of_the_rule_that_covers_it(data: st.DataObject) -> None:
    """Rules over disjoint chapters pass; a chapter that two of them name never does."""
    count = data.draw(st.integers(1, 12))
    chapters = [Chapter(number, f"Title {number}") for number in range(1, count + 1)]
    owner = data.draw(
        st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=count, max_size=count)
    )
    names = sorted(set(owner) - {""})
    rules = [
        CastRule(voice=name, chapters=frozenset(n for n, own in enumerate(owner, 1) if own == name))
        for name in names
    ]
    check_cast(rules, chapters)
    assert [cast_voice(rules, each.number, each.title) for each in chapters] == owner
    if names:
        twice = CastRule(voice="d", title=f"title {owner.index(names[0]) + 1}")
        with pytest.raises(ConfigError, match="both match chapter"):
            check_cast([*rules, twice], chapters)


@pytest.mark.parametrize(
    ("rates", "wanted", "rate"),
    [
        ([22_050], None, 22_050),
        ([44_100], None, 44_100),
        ([24_000, 24_000], None, 24_000),
        ([22_050, 24_000], None, 24_000),
        ([16_000, 22_050], None, 24_000),
        ([24_000, 44_100], None, 44_100),
        ([22_050, 32_000], None, 44_100),
        ([44_100], 24_000, 24_000),
        ([24_000], 44_100, 44_100),
    ],
)
def test_the_rate_of_the_book(rates: list[int], wanted: int | None, rate: int) -> None:
    assert master_rate(rates, wanted) == rate


@pytest.mark.parametrize("text", ["", "0", "3-1", "a", "1-", "1,,2", "12345"])
def test_what_is_no_list_of_chapters(text: str) -> None:
    with pytest.raises(ValueError, match="chapters"):
        parse_chapters(text)


def test_a_chapter_is_planned_for_its_voice(book: Book) -> None:
    plan, jobs = plan_book(book, MIXED, MemoryStore())
    assert [chapter.voice for chapter in plan.chapters] == ["", "aunt", ""]
    of = {number: [job for job in jobs if job.chapter == number] for number in (1, 2, 3)}
    assert {(job.engine, job.voice) for job in of[1] + of[3]} == {("fake", "low")}
    assert {(job.engine, job.voice) for job in of[2]} == {("other", "high")}
    assert max(len(job.spoken) for job in of[2]) <= 30 < max(len(job.spoken) for job in of[1])
    assert of[2][0].est_audio_s == pytest.approx(len(of[2][0].spoken) * 0.12 / 0.5)
    assert plan.sample_rate_hz == 24_000
    assert plan.voices["aunt"].sample_rate_hz == 22_050
    assert [voice.label for voice in plan.heard()] == ["low (fake)", "high (other)"]
    assert [voice.name for voice in plan.heard([2])] == ["aunt"]


def test_what_no_rule_gives_away_is_planned_as_ever(book: Book) -> None:
    """The other chapters of a cast book have the rows, seeds and keys that they had before."""
    _, alone = plan_book(book, REQUEST, MemoryStore())
    _, mixed = plan_book(book, MIXED, MemoryStore())
    kept = {job.segment_id: replace(job, ordinal=0) for job in alone if job.chapter != 2}
    assert {job.segment_id: replace(job, ordinal=0) for job in mixed if job.chapter != 2} == kept
    assert {job.job_key for job in alone if job.chapter == 2}.isdisjoint(
        job.job_key for job in mixed
    )


def test_orders_have_the_keys_speed_and_policy_of_their_voice(book: Book) -> None:
    plan, jobs = plan_book(book, MIXED, MemoryStore())
    orders = make_orders(plan, jobs, policy_digest=plan.policy_digests, attempts=3)
    for job, order in zip(jobs, orders, strict=True):
        aunt = job.chapter == 2
        assert order.job_key == order.attempts[0].take_key == job.job_key
        assert order.speed == (0.5 if aunt else 1.0)
        assert order.choice_key.endswith(("p" if aunt else "n") * 16 + ".json")


def test_a_shard_is_of_one_engine(book: Book) -> None:
    plan, jobs = plan_book(book, MIXED, MemoryStore())
    orders = make_orders(plan, jobs, policy_digest="", attempts=1)
    voices = {order.id: order.voice for order in orders}
    shards = cut_shards(
        orders, workers=1, canary=1, engine_of=lambda order: order.voice, audio_s=(1.0, 5.0)
    )
    assert all(len({voices[order.id] for order in shard.orders}) == 1 for shard in shards)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert sorted(o.id for s in shards for o in s.orders) == sorted(o.id for o in orders)
    spoken = list(dict.fromkeys(voices[shard.orders[0].id] for shard in shards))
    assert spoken == ["low", "high"], "engines follow one another"
    firsts = [next(s for s in shards if voices[s.orders[0].id] == voice) for voice in spoken]
    assert [len(shard.orders) for shard in firsts] == [1, 1], "each engine has its canary"


def test_a_plan_of_a_cast_comes_back_whole(book: Book) -> None:
    store = MemoryStore()
    plan, jobs = plan_book(book, MIXED, store)
    found = load_plan(store, plan.book_id, plan.plan_id)
    assert found is not None
    assert found[0] == plan
    assert [job.job_key for job in found[1]] == [job.job_key for job in jobs]
    assert Plan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    check_fingerprint(plan, "a" * 64, "aunt")
    with pytest.raises(BundleError, match="for its voice 'aunt', with other weights"):
        check_fingerprint(plan, "b" * 64, "aunt")
    store.put(choice_key(jobs[0].job_key, "0" * 64), b"a choice")
    with pytest.raises(BundleError, match="for its voice 'aunt'"):
        plan_book(book, replace(MIXED, cast={"aunt": cast(fingerprint="b" * 64)}), store)


def test_a_plan_whose_voice_is_gone_is_damaged(book: Book) -> None:
    store = MemoryStore()
    plan, _ = plan_book(book, MIXED, store)
    document = json.loads(store.get(f"{plan.folder}/plan.json") or b"")
    document["cast"] = []
    store.put(f"{plan.folder}/plan.json", json.dumps(document).encode())
    with pytest.raises(StoreError, match=r"is damaged \(its cast has no voice 'aunt'"):
        load_plan(store, plan.book_id, plan.plan_id)


def test_a_plan_of_one_voice_says_nothing_of_casts(book: Book) -> None:
    plan, _ = plan_book(book, REQUEST, MemoryStore())
    data = plan.as_dict()
    assert not {"cast", "narrator_rate_hz"} & set(data)
    assert all("voice" not in chapter for chapter in data["chapters"])
    assert plan_id_of("0" * 64, REQUEST) == plan_id_of("0" * 64, replace(REQUEST, rules=()))


def test_a_book_at_another_rate_than_its_engine(book: Book) -> None:
    plan, jobs = plan_book(book, replace(REQUEST, sample_rate_hz=44_100), MemoryStore())
    assert (plan.sample_rate_hz, plan.voices[""].sample_rate_hz) == (44_100, 24_000)
    _, alone = plan_book(book, REQUEST, MemoryStore())
    assert jobs == alone, "takes do not depend on the book"


def test_rules_that_do_not_fit_are_refused_before_anything_is_written(book: Book) -> None:
    store = MemoryStore()
    for rule in (
        CastRule(voice="aunt", title="Chapter *"),
        CastRule(voice="aunt", chapters=frozenset({9})),
    ):
        with pytest.raises(ConfigError, match="chapter"):
            plan_book(book, replace(MIXED, rules=(rule,)), store)
    assert list(store.list("")) == []


def test_a_voice_that_does_not_speak_the_language_of_its_chapters(book: Book) -> None:
    german = cast(languages=frozenset({"de"}))
    with pytest.raises(BookError, match="most of what aunt reads is in 'en', and engine 'other'"):
        plan_book(book, replace(MIXED, cast={"aunt": german}), MemoryStore())


def test_chapters_may_be_in_a_language_of_their_own(book: Book) -> None:
    german = cast(languages=frozenset({"de"}))
    told = replace(german, text=replace(german.text, language="de"))
    plan, jobs = plan_book(book, replace(MIXED, cast={"aunt": told}), MemoryStore())
    assert {job.language for job in jobs if job.chapter == 2} == {"de"}
    assert {job.language for job in jobs if job.chapter != 2} == {"en"}
    assert not [each for each in plan.findings if each.code == "plan-language"]


def test_numbers_of_chapters_do_not_depend_on_who_speaks(book: Book) -> None:
    asked: list[tuple[int, str]] = []

    def heard(number: int, title: str) -> bool:
        asked.append((number, title))
        return False

    class Listening(CastRule):
        def covers(self, number: int, title: str) -> bool:
            return heard(number, title) or number == 2

    plan_book(book, replace(MIXED, rules=(Listening(voice="aunt", title="x"),)), MemoryStore())
    assert dict(asked) == {1: "One", 2: "Letter from Ines", 3: "Three"}
