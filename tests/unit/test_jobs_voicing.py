"""What the voice cannot read is known from the plan, and nothing readable is called unreadable."""

import json
import string
from dataclasses import replace
from pathlib import Path

import pytest

from loudr_core.book.read import read_book
from loudr_core.errors import BookError
from loudr_core.jobs.plan import Plan, PlanRequest, Speaker, plan_book
from loudr_core.jobs.voicing import spoken_language
from loudr_core.speech.embedded import EmbeddedEngine
from loudr_core.speech.legible import foreign_letters, is_latin, unreadable
from loudr_core.speech.limits import EMBEDDED
from loudr_core.speech.protocol import SpeechRequest
from loudr_core.testing import MemoryStore
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import TextOptions

ENGLISH = "The lamp was lit at dusk, and nobody came down to the water for a long while.\n\n" * 6
GERMAN = (
    "Die Lampe wurde am Abend angezündet, und niemand kam zum Wasser hinunter. Der alte Mann saß "
    "am Fenster und wartete auf das Boot, das nicht kam. Es war die Flut, sagte sie zu dem Hund, "
    "der es wusste."
)
RUSSIAN = "«Привет, мир, как дела сегодня вечером у старого маяка», — сказал он ей тихо."
SPEAKER = Speaker(
    engine="embedded",
    voice="heart",
    voice_sha256="v",
    fingerprint="f",
    sample_rate_hz=24_000,
    languages=EMBEDDED.languages,
    max_characters=EMBEDDED.max_characters,
    target_characters=120,
    seconds_per_character=EMBEDDED.seconds_per_character,
)
REQUEST = PlanRequest(
    profile={},
    text=TextOptions(max_characters=1200, target_characters=80, merge_short=False),
    lexicon=Lexicon({}),
    speaker=SPEAKER,
    book_seed=7,
    speed=1.0,
)


def planned(folder: Path, text: str, request: PlanRequest = REQUEST) -> Plan:
    path = folder / "book.md"
    path.write_text(f"# Book\n\n{text}\n", encoding="utf-8")
    return plan_book(read_book(path), request, MemoryStore())[0]


def test_a_passage_that_no_seed_makes_audible_is_an_error_of_the_plan(tmp_path: Path) -> None:
    plan = planned(tmp_path, ENGLISH + RUSSIAN)
    (finding,) = [each for each in plan.findings if each.severity == "error"]
    assert finding.code == "plan-unreadable"
    assert "not Latin, which the voice cannot read: '«Привет" in finding.message
    assert list(plan.unreadable) == [finding.where["segment_id"]]
    assert Plan.from_dict(json.loads(json.dumps(plan.as_dict()))).unreadable == plan.unreadable


def test_a_character_that_the_voice_has_not_is_an_error_of_the_plan(tmp_path: Path) -> None:
    koko = replace(SPEAKER, engine="koko", alphabet=frozenset(string.printable))
    plan = planned(tmp_path, ENGLISH + "Naïve folk say Ω and 中.", replace(REQUEST, speaker=koko))
    (finding,) = [each for each in plan.findings if each.severity == "error"]
    assert finding.code == "plan-unreadable"
    assert "the voice has no character for Ω U+03A9, 中 U+4E2D: 'Naïve folk" in finding.message
    lenient = replace(koko, alphabet=None)
    assert not planned(
        tmp_path, ENGLISH + "Nobody knows Ω.", replace(REQUEST, speaker=lenient)
    ).unreadable
    read = replace(REQUEST, speaker=koko, lexicon=Lexicon({"Ω": "omega"}))
    assert not planned(tmp_path, ENGLISH + "Nobody knows Ω.", read).unreadable
    russian = planned(tmp_path, ENGLISH + RUSSIAN, replace(REQUEST, speaker=koko))
    assert len([each for each in russian.findings if each.severity == "error"]) == 1


def test_a_reading_in_the_lexicon_makes_it_audible(tmp_path: Path) -> None:
    words = dict.fromkeys(("Привет", "мир", "как", "дела", "сегодня", "вечером"), "privet")
    words |= dict.fromkeys(("у", "старого", "маяка", "сказал", "он", "ей", "тихо"), "mayak")
    plan = planned(tmp_path, ENGLISH + RUSSIAN, replace(REQUEST, lexicon=Lexicon(words)))
    assert plan.unreadable == {}


def test_a_book_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"cannot read most of the book .*choose another"):
        planned(tmp_path, RUSSIAN)


def test_markdown_in_german_is_refused_though_it_names_no_language(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"in 'de', and engine 'embedded' speaks en.*--language"):
        planned(tmp_path, GERMAN)


def test_another_engine_may_read_it(tmp_path: Path) -> None:
    speaker = replace(SPEAKER, engine="loudr1")
    assert planned(tmp_path, ENGLISH + RUSSIAN, replace(REQUEST, speaker=speaker)).unreadable == {}


TEXTS = (
    "The lamp was lit.",
    "L’été à Zürich — naïve façade.",
    "Привет, мир",
    "日本語",
    "They met a man from 日本 who was kind.",
    "αβγ and so on",
    "½ of 1914",
    "Łódź",
)


@pytest.mark.parametrize("text", TEXTS)
def test_the_plan_and_the_engine_say_the_same(text: str) -> None:
    engine = _engine()
    request = SpeechRequest(id="x", text=text, language="en", voice="heart", seed=7)
    (speech,) = engine.synthesize([request])
    reason = unreadable("embedded", text)
    assert bool(reason) == ("not Latin" in speech.error)
    assert speech.error.startswith(reason)


def _engine() -> EmbeddedEngine:
    if not _ENGINES:
        _ENGINES.append(EmbeddedEngine())
    return _ENGINES[0]


_ENGINES: list[EmbeddedEngine] = []


def test_letters_are_counted() -> None:
    assert foreign_letters("ab, 12") == (0, 2)
    assert foreign_letters("aбв é") == (2, 4)
    assert is_latin("ﬁ")
    assert not is_latin("α")
    assert unreadable("no such engine", "мир") == ""


@pytest.mark.parametrize(
    ("tag", "asked"), [("en_GB", "en_GB"), ("EN-gb", "EN-gb"), ("de_AT", "en"), ("de", "en")]
)
def test_a_tag_is_read_as_engines_read_it(tag: str, asked: str) -> None:
    assert spoken_language(tag, EMBEDDED.languages) == asked
