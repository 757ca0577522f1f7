"""Phonemes on their way into a plan: the table, the pronunciations, and what is refused."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.read import read_book
from loudr_core.errors import ConfigError, DeviceError, SynthesisError
from loudr_core.jobs.phoneme_table import PhonemeRow, PhonemeTable
from loudr_core.jobs.phonemes import PhonemeSource
from loudr_core.jobs.plan import PlanRequest, Speaker, plan_book, plan_id_of
from loudr_core.jobs.pronouncing import phonemes_of
from loudr_core.render.planning import resolved
from loudr_core.settings import Profile
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.testing import MemoryStore
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import TextOptions

TAKEN = GivenPhonemes(symbols=frozenset("abcdefghijklmnopqrstuvwxyz.,'!?;:ˈː"))
SPEAKER = Speaker(
    engine="bluetts",
    voice="bruno",
    voice_sha256="v",
    fingerprint="f",
    sample_rate_hz=44_100,
    languages=frozenset({"en", "de", "ru", "he", "yi"}),
    max_characters=500,
    target_characters=60,
    seconds_per_character=(0.03, 0.13),
    phonemes=TAKEN,
)
REQUEST = PlanRequest(
    profile={},
    text=TextOptions(max_characters=500, target_characters=60, merge_short=False),
    lexicon=Lexicon({}),
    speaker=SPEAKER,
    book_seed=7,
    speed=1.0,
)
BOOK = """# Book

The lamp was lit at dusk.

They went to Cirencester, and came home late at night from there.

Nobody came down to the water.
"""
WORDS = Lexicon({"Cirencester": "ˈsɪstə"}, what="pronunciation")


class Front:
    """Reads letters, sentence by sentence, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def sentences(self, text: str, language: str) -> list[str]:
        self.asked.append((text, language))
        return [each.lower() for each in re.split(r"(?<=[.!?]) ", text) if each]


def planned(folder: Path, source: PhonemeSource, text: str = BOOK, **speaker: Any) -> Any:
    path = folder / "book.md"
    path.write_text(text, encoding="utf-8")
    request = replace(REQUEST, phonemes=source, speaker=replace(SPEAKER, **speaker))
    return plan_book(read_book(path), request, MemoryStore(), replan=True)


def table(*rows: tuple[str, str]) -> PhonemeTable:
    return PhonemeTable(PhonemeRow(spoken=spoken, phonemes=said) for spoken, said in rows)


# ---------------------------------------------------------------- a plan


def test_a_table_fills_the_column_and_moves_seed_and_keys(tmp_path: Path) -> None:
    plain, before = planned(tmp_path, PhonemeSource())
    source = PhonemeSource(table(("The lamp was lit at dusk.", "ðə".replace("ðə", "de lamp."))))
    plan, jobs = planned(tmp_path, source)
    assert [job.phonemes for job in jobs] == [None, "de lamp.", None, None]
    for old, new in zip(before, jobs, strict=True):
        same = new.phonemes is None
        assert (old.seed == new.seed) is same
        assert (old.job_key == new.job_key) is same
        assert old.spoken == new.spoken
    missing = [each for each in plan.findings if each.code == "plan-phonemes-missing"]
    assert len(missing) == 1
    assert missing[0].where == {"segments": 3}
    assert not any(each.code.startswith("plan-phonemes") for each in plain.findings)


def test_rows_of_no_segment_are_told_of(tmp_path: Path) -> None:
    lit = ("The lamp was lit at dusk.", "lamp.")
    plan, _ = planned(tmp_path, PhonemeSource(table(lit, ("Gone since the edit.", "gon"))))
    (found,) = [each for each in plan.findings if each.code == "plan-phonemes-unused"]
    assert "1 row of the phonemes is of no segment" in found.message
    assert "'Gone since the edit.' first" in found.message


def test_the_table_of_another_book_is_refused(tmp_path: Path) -> None:
    other = PhonemeTable([PhonemeRow(spoken="Other.", phonemes="oder")], name="other.jsonl")
    with pytest.raises(ConfigError, match=r"other\.jsonl: none of its 1 rows? is of a segment"):
        planned(tmp_path, PhonemeSource(other))


@pytest.mark.parametrize(
    ("phonemes", "said"),
    [
        ("la " * 300, "c001-s0002 have 900 characters, for the 25 of 'The lamp was lit at dusk.'"),
        ("la" * 600_000, "at most 700 can be meant"),
        (" . ", "c001-s0002 hold no sound: ' . '"),
        ("ids:", "c001-s0002 hold no sound: 'ids:'"),
    ],
)
def test_phonemes_that_cannot_be_those_of_the_words(
    tmp_path: Path, phonemes: str, said: str
) -> None:
    source = PhonemeSource(table(("The lamp was lit at dusk.", phonemes)))
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, source, phonemes=replace(TAKEN, ids=100))
    assert said in caught.value.message
    assert len(caught.value.message) < 300


def test_a_word_of_the_pronunciations_has_its_segment_read(tmp_path: Path) -> None:
    front = Front()
    source = PhonemeSource(None, WORDS, lambda fingerprint: front)
    symbols = TAKEN.symbols | set("ɪə")
    _, jobs = planned(tmp_path, source, phonemes=replace(TAKEN, symbols=symbols))
    (given,) = [job for job in jobs if job.phonemes is not None]
    assert given.spoken.startswith("They went to Cirencester, and")
    assert given.phonemes == "they went to ˈsɪstə, and came home late at night from there."
    assert {language for _, language in front.asked} == {"en"}


def test_the_table_comes_before_the_pronunciations(tmp_path: Path) -> None:
    spoken = "They went to Cirencester, and came home late at night from there."

    def none_here(fingerprint: str) -> Front:
        raise AssertionError(f"a front end was opened for {fingerprint}")

    source = PhonemeSource(table((spoken, "dej went.")), WORDS, none_here)
    _, jobs = planned(tmp_path, source)
    assert [job.phonemes for job in jobs if job.spoken == spoken] == ["dej went."]


def test_a_front_end_that_is_not_there_is_one_line_that_names_the_segment(tmp_path: Path) -> None:
    def absent(fingerprint: str) -> Front:
        raise DeviceError("espeak-ng is not here: install it", package="piper-tts")

    with pytest.raises(DeviceError, match=r"c001-s0003 has a word of \[pronunciations\]: espeak"):
        planned(tmp_path, PhonemeSource(None, WORDS, absent))


def test_a_book_without_the_word_needs_no_front_end(tmp_path: Path) -> None:
    def absent(fingerprint: str) -> Front:
        raise DeviceError("not here")

    text = "# Book\n\nThe lamp was lit at dusk.\n"
    _, jobs = planned(tmp_path, PhonemeSource(None, WORDS, absent), text)
    assert [job.phonemes for job in jobs] == [None, None]


def test_a_plan_without_phonemes_is_what_it_was() -> None:
    speaker = SPEAKER
    profile = resolved(Profile(), speaker)
    assert "pronunciations" not in profile
    assert Profile.model_validate(profile).pronunciations == {}
    said = resolved(Profile(pronunciations={"Ines": "iˈnes"}), speaker)
    assert said["pronunciations"] == {"Ines": "iˈnes"}
    request = replace(REQUEST, phonemes=PhonemeSource(None, WORDS, lambda _: Front()))
    assert plan_id_of("0" * 64, request) == plan_id_of("0" * 64, REQUEST)


# ---------------------------------------------------------------- what is refused


def test_an_engine_that_takes_none_refuses_the_plan(tmp_path: Path) -> None:
    source = PhonemeSource(table(("The lamp was lit at dusk.", "de lamp.")))
    with pytest.raises(ConfigError, match="engine 'koko' takes no phonemes, and 1 segments") as ex:
        planned(tmp_path, source, engine="koko", phonemes=None)
    assert ex.value.context["segment"] == "c001-s0002"
    # What it is not to speak does no harm.
    _, jobs = planned(tmp_path, PhonemeSource(table()), engine="koko", phonemes=None)
    assert {job.phonemes for job in jobs} == {None}


def test_unknown_symbols_are_refused_with_a_report(tmp_path: Path) -> None:
    rows = (("The lamp was lit at dusk.", "ðe lʘmp wʘz."), ("Book.", "bʘk."))
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, PhonemeSource(table(*rows)))
    message = caught.value.message
    assert "no sound for 2 symbols in the phonemes of 2 segments, c001-s0001 first" in message
    assert "ʘ U+0298 x3, ð U+00F0 x1" in message
    assert caught.value.context["unknown"] == {"ʘ": 3, "ð": 1}
    assert "\n" not in message


def test_what_an_engine_leaves_out_is_a_warning_up_to_its_share(tmp_path: Path) -> None:
    some = replace(TAKEN, most_unknown=0.1)
    source = PhonemeSource(table(("The lamp was lit at dusk.", "de lamp wos lit ət dusk.")))
    plan, _ = planned(tmp_path, source, phonemes=some)
    (found,) = [each for each in plan.findings if each.code == "plan-phonemes-unknown"]
    assert "ə U+0259 x1" in found.message
    source = PhonemeSource(table(("The lamp was lit at dusk.", "də lamp wəs lit ət dəsk.")))
    with pytest.raises(ConfigError, match="ə U\\+0259 x4"):
        planned(tmp_path, source, phonemes=some)


def test_what_nothing_here_reads_is_an_error_of_the_plan(tmp_path: Path) -> None:
    source = PhonemeSource(table(("The lamp was lit at dusk.", "de lamp.")))
    plan, jobs = planned(tmp_path, source, unread=frozenset({"en"}))
    assert set(plan.unreadable) == {job.segment_id for job in jobs} - {"c001-s0002"}
    said = plan.unreadable["c001-s0001"]
    assert "nothing here reads 'en' for bluetts, so install its front end or give" in said


@pytest.mark.parametrize(
    ("engine", "language", "text", "said"),
    [
        ("bluetts", "ru", "Дом №7.", "'7' is not spelled, and nothing reads figures in 'ru'"),
        ("bluetts", "he-IL", "בית 12:30", "'12:30' is not spelled"),
        ("bluetts", "yi", "1905", "'1905' is not spelled"),
        ("bluetts", "ru", "Вес ⅝ пуда", "'⅝' is not spelled"),
        ("bluetts", "ru", "Дом семь.", ""),
        ("bluetts", "de", "Haus 7.", ""),
        ("sanotts", "ru", "Дом №7.", ""),
        ("embedded", "en", "House 7.", ""),
    ],
)
def test_figures_that_nothing_reads(engine: str, language: str, text: str, said: str) -> None:
    from loudr_core.speech.legible import unreadable

    found = unreadable(engine, text, language)
    assert said in found
    assert bool(found) is bool(said)


# ---------------------------------------------------------------- pronouncing


@pytest.mark.parametrize(
    ("spoken", "wanted"),
    [
        ("Cirencester", "ˈsɪstə"),
        ("“Cirencester,” she said.", "ˈsɪstə, she said."),
        ("To Cirencester. Then home.", "to ˈsɪstə.\nthen home."),
        ("It rained. In Cirencester? No!", "it rained.\nin ˈsɪstə?\nno!"),
        ("Cirencester Cirencester — Cirencester.", "ˈsɪstə ˈsɪstə; ˈsɪstə."),
        ("To Cirencester's gate.", "to cirencester's gate."),
        ("It rained. Cirencester was wet.", "it rained.\nˈsɪstə was wet."),
        ("No such town. None.", "no such town.\nnone."),
        ("To cirencester.", "to cirencester."),
    ],
)
def test_words_stand_between_what_the_front_end_reads(spoken: str, wanted: str) -> None:
    assert phonemes_of(spoken, "en-GB", Front(), WORDS) == wanted


def test_what_cannot_be_read_is_the_front_end_s_to_say() -> None:
    class Silent(Front):
        def sentences(self, text: str, language: str) -> list[str]:
            raise SynthesisError(f"no front end for {language!r}")

    with pytest.raises(SynthesisError, match="no front end for 'yi'"):
        phonemes_of("a Cirencester b", "yi", Silent(), WORDS)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["Cirencester", "the", "lamp", "went", "out", "Home"]), min_size=1),
    st.lists(st.sampled_from([" ", ", ", ". ", "! ", "; ", " — ", ": "]), min_size=12, max_size=12),
)
def test_no_word_is_lost(words: list[str], joints: list[str]) -> None:
    spoken = "".join(word + joints[place % len(joints)] for place, word in enumerate(words)).strip(
        " ,;:—"
    )
    said = phonemes_of(spoken, "en", Front(), WORDS)
    wanted = ["ˈsɪstə" if word == "Cirencester" else word.lower() for word in words]
    assert re.findall(r"[\wˈ]+", said) == wanted
    assert said == said.strip()
