"""Words to phonemes: the marks of a book, the letters as phonemes, espeak-ng both ways."""

import difflib
import importlib.metadata
import shutil
import stat
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from loudr_core.errors import BundleError, ConfigError, DeviceError, SynthesisError
from loudr_core.speech import espeak
from loudr_core.speech.espeak import PiperEspeak
from loudr_core.speech.espeak_binary import EspeakBinary, clauses
from loudr_core.speech.sanotts import reading
from loudr_core.speech.sanotts.phonemes import PhonemeConfig
from loudr_core.speech.sanotts.reading import open_reader, plain_marks

IDS = {"_": 0, "^": 1, "$": 2, "a": 3}


def _config(kind: str = "espeak", voice: str = "de", **ids: int) -> PhonemeConfig:
    return PhonemeConfig(kind=kind, espeak_voice=voice, ids={**IDS, **ids})


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        ("„Ja“ – sagte er", "Ja; sagte er"),
        ("I was— well… no.", "I was; well, no."),
        ("She went… Nothing came...", "She went. Nothing came."),
        ("a thousand … quotes", "a thousand, quotes"),
        ("a well-known north-west wind", "a well-known north-west wind"),
        ("— Hello", "Hello"),
        ("word—word -- word", "word; word; word"),
        ("Who?—He.", "Who? He."),
        ("‘Tis so,’ he said.", "'Tis so,' he said."),
        ("the end—", "the end"),
        ("[[x]] {y}", "x y"),
        ("Öl… Äpfel", "Öl. Äpfel"),
        ("…und dann", "und dann"),
        ("“Yes,” he said.", "Yes, he said."),
        ("Hm, … yes?!", "Hm, yes?!"),
        ("  two\n lines ", "two lines"),
        ("it's 3.5 or 1,000", "it's 3.5 or 1,000"),
        ("", ""),
    ],
)
def test_trap_marks_become_those_that_are_read_as_pauses(printed: str, plain: str) -> None:
    assert plain_marks(printed) == plain
    assert plain_marks(plain) == plain


def test_letters_are_phonemes_where_the_voice_says_so() -> None:
    reader = open_reader(_config("text", ""), phonemizer="auto", path="p")
    assert reader.sentences("Änna lief. Sie rief: „Halt!“") == [
        "a\u0308nna lief.",
        "sie rief: halt!",
    ]
    capital = open_reader(_config("text", "", A=4), phonemizer="auto", path="p")
    assert capital.sentences("Anna") == ["Anna"]
    assert reader.identity == {"phonemizer": "letters"}


def test_without_a_phonemiser_words_are_refused() -> None:
    reader = open_reader(_config(), phonemizer="none", path="p")
    with pytest.raises(SynthesisError, match="without a phonemiser: give phonemes"):
        reader.sentences("Anna")


def test_an_unknown_phonemiser_is_a_wrong_option() -> None:
    with pytest.raises(ConfigError, match="no phonemizer 'gruut': choose one of auto, piper"):
        open_reader(_config(), phonemizer="gruut", path="p")


def test_a_kind_of_phonemes_that_loudr_does_not_read_is_named() -> None:
    with pytest.raises(BundleError, match="phoneme_type is 'pinyin'") as caught:
        open_reader(_config("pinyin"), phonemizer="auto", path="p.json")
    assert caught.value.context == {"path": "p.json", "key": "phoneme_type"}
    assert open_reader(_config("pinyin"), phonemizer="none", path="p.json").identity


def test_where_nothing_reads_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "piper_installed", lambda: False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(DeviceError, match="install the extra 'espeak', or the program espeak-ng"):
        open_reader(_config(), phonemizer="auto", path="p")
    with pytest.raises(DeviceError, match="no program 'espeak-ng' on PATH"):
        open_reader(_config(), phonemizer="espeak-ng", path="p")


def test_a_missing_piper_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "piper.phonemize_espeak", None)
    with pytest.raises(DeviceError, match="install the extra 'espeak'"):
        PiperEspeak()

    def absent(_: str) -> str:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.version", absent)
    assert not espeak.piper_installed()


class _Fussy:
    """Knows some voices only."""

    identity: dict[str, str] = {"phonemizer": "fussy"}  # noqa: RUF012  # as the protocol has it

    def __init__(self, *voices: str) -> None:
        self.voices = voices

    def phonemize(self, text: str, voice: str) -> list[str]:
        if voice not in self.voices:
            raise SynthesisError(f"no {voice}")
        return [text]


def test_trap_a_bare_en_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_phonemizer", lambda _: _Fussy("en-us", "de"))
    found = open_reader(_config(voice="en"), phonemizer="auto", path="p")
    assert found.identity["espeak_voice"] == "en-us"
    with pytest.raises(BundleError, match=r"espeak\.voice is 'xx'") as caught:
        open_reader(_config(voice="xx"), phonemizer="auto", path="p")
    assert caught.value.context["key"] == "espeak.voice"


# ---------------------------------------------------------------- piper-tts


@pytest.fixture(scope="module")
def piper() -> PiperEspeak:
    pytest.importorskip("piper.phonemize_espeak", reason="the extra espeak is not installed")
    return PiperEspeak()


def test_piper_reads_sentences_with_their_marks(piper: PiperEspeak) -> None:
    found = piper.phonemize("Guten Tag, wie geht es? Gut.", "de")
    assert len(found) == 2
    assert found[0].endswith("?")
    assert found[1].endswith(".")


def test_trap_a_comma_keeps_its_mark_and_the_boundary_of_words(piper: PiperEspeak) -> None:
    (with_comma,) = piper.phonemize("Guten Tag, guten Abend.", "de")
    before, after = with_comma.split(", ")
    assert before
    assert after.endswith(".")


def test_trap_no_flag_of_another_language_is_left(piper: PiperEspeak) -> None:
    (found,) = piper.phonemize("Das Meeting war cool, very nice.", "de")
    assert "(" not in found
    assert "en" not in found.split()


def test_trap_an_ellipsis_does_not_glue_words(piper: PiperEspeak) -> None:
    (found,) = piper.phonemize(plain_marks("a thousand … quotes"), "en-us")
    assert len(found.split()) == 3


def test_piper_says_which_voice_is_missing(piper: PiperEspeak) -> None:
    with pytest.raises(SynthesisError, match="espeak voice 'xx' cannot read it"):
        piper.phonemize("hello", "xx")


@pytest.mark.parametrize("text", ["", "...", "?! —", " "])
def test_piper_finds_no_sentence_where_there_is_none(piper: PiperEspeak, text: str) -> None:
    assert piper.phonemize(plain_marks(text), "de") == []


# ---------------------------------------------------------------- the program

SCRIPT = """#!/bin/sh
if [ "$1" = --version ]; then echo "eSpeak NG text-to-speech: 1.51  Data at: /here"; exit 0; fi
[ "$1 $2 $3 $4 $6" = "-q --ipa -b 1 --stdin" ] || { echo "used otherwise: $*" >&2; exit 3; }
[ "$5" = -vde ] || { echo "no such voice" >&2; exit 1; }
echo " (en)$(cat | tr a-z b-za)(de)"
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "espeak-ng"
    path.write_text(SCRIPT)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_program_reads_clause_by_clause(program: Path) -> None:
    reader = EspeakBinary(str(program))
    found = reader.phonemize("ab, cd; ef: gh! ij? kl", "de")
    assert found == ["bc, de; fg: hi!", "jk?", "lm"]
    assert reader.identity == {
        "phonemizer": "espeak-ng",
        "version": "eSpeak NG text-to-speech: 1.51",
    }


def test_the_program_says_what_it_lacks(program: Path) -> None:
    with pytest.raises(SynthesisError, match="espeak voice 'fr' cannot read it: no such voice"):
        EspeakBinary(str(program)).phonemize("ab", "fr")


def test_a_program_that_does_not_run(tmp_path: Path) -> None:
    path = tmp_path / "espeak-ng"
    path.write_text("#!/bin/sh\nexit 7\n")
    path.chmod(0o755)
    with pytest.raises(DeviceError, match="does not run: exit code 7"):
        EspeakBinary(str(path))


def test_a_program_that_hangs_is_given_up(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = EspeakBinary(str(program))
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr("loudr_core.speech.espeak_binary._LIMIT_S", 0.2)
    with pytest.raises(SynthesisError, match="gave no answer"):
        reader.phonemize("ab", "de")


@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("de", "Es war einmal ein alter Mann, der lebte allein am Meer; niemand kam. Warum? Cool!"),
        ("en-us", "Nobody spoke, and the rain came down. Who is there? It was closed: he left!"),
    ],
)
def test_an_installed_program_reads_as_piper_does(
    voice: str, text: str, piper: PiperEspeak
) -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("no program espeak-ng on PATH")
    found = [unicodedata.normalize("NFD", s) for s in EspeakBinary().phonemize(text, voice)]
    wanted = piper.phonemize(text, voice)
    assert [s[-1] for s in found] == [s[-1] for s in wanted]
    likeness = difflib.SequenceMatcher(None, " ".join(found), " ".join(wanted)).ratio()
    assert likeness > 0.95


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One, two. Three", [("One", ","), ("two", "."), ("Three", "")]),
        ("3.5 or 1,000; yes", [("3.5 or 1,000", ";"), ("yes", "")]),
        ('He said "No." Then', [('He said "No', "."), ("Then", "")]),
        ("Wait...! Now?!", [("Wait", "."), ("Now", "?")]),
        ("?! ... ,", []),
        ("", []),
    ],
)
def test_clauses(text: str, found: list[Any]) -> None:
    assert list(clauses(text)) == found
