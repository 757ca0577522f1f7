import builtins
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import ConfigError, DeviceError, SynthesisError
from loudr_core.speech.bluetts import reading
from loudr_core.speech.bluetts.hebrew_front import HebrewFront, hebrew_identity, is_pointed
from loudr_core.speech.bluetts.reading import BlueReader
from loudr_core.speech.bluetts.russian import (
    apply_word_overrides,
    mark_yo_stress,
    remap_ruphon_ipa,
)
from loudr_core.speech.bluetts.russian_front import RussianFront, russian_identity


@pytest.mark.parametrize(
    ("ipa", "wanted"),
    [
        ("zɐm'ok t~sar", "zɐmˈok ʦar"),  # the card's own example
        ("t~ɕ'as", "ʧˈas"),
        ("t~ʂ d~z d~ʐ d~ʑ", "ʧ ʣ ʤ ʤ"),
        ("brɐt~s+_ə 'ɪ+rʲ kas:ə", "brɐʦə ˈɪrʲ kas:ə"),
        ("mamə", "mamə"),
        ("", ""),
    ],
)
def test_ties_become_ligatures_and_the_apostrophe_stress(ipa: str, wanted: str) -> None:
    assert remap_ruphon_ipa(ipa) == wanted


@settings(max_examples=200, deadline=None)
@given(st.text("abtdszɕʂ'+_: ˈʦʧ", max_size=30))
def test_the_remap_is_done_once(ipa: str) -> None:
    once = remap_ruphon_ipa(ipa)
    assert "'" not in once
    assert remap_ruphon_ipa(once) == once


def test_trap_a_tie_without_a_ligature_is_an_error() -> None:
    with pytest.raises(SynthesisError, match="no symbol of the voice stands for the tie 'p~f'"):
        remap_ruphon_ipa("ap~fa")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ёлка", "+ёлка"),
        ("Ёлка и самолёт.", "+Ёлка и самол+ёт."),
        ("з+амок, мёд", "з+амок, м+ёд"),
        ("+ёлка", "+ёлка"),
        ("чёрно-жёлтый", "чёрно-ж+ёлтый"),
        ("трёхколёсный", "трёхкол+ёсный"),
        ("ну́ во́т", "ну́ во́т"),
        (unicodedata.normalize("NFD", "мёд"), "м+ёд"),
        ("", ""),
    ],
)
def test_yo_is_always_stressed(text: str, wanted: str) -> None:
    assert mark_yo_stress(text) == wanted


@settings(max_examples=200, deadline=None)
@given(st.text("аеёЁзмк+- .,", max_size=40))
def test_marking_twice_is_marking_once(text: str) -> None:
    once = mark_yo_stress(text)
    assert mark_yo_stress(once) == once
    assert once.replace("+", "") == text.replace("+", "")


def test_trap_vsyo_is_said_as_it_is_written() -> None:
    source, ipa = "вс+ё, вс+е и всё!", "fsʲ'e, fsʲ'e ɪ fsʲe!"
    found = apply_word_overrides(source, ipa)
    assert found == "fsʲˈɵ, fsʲ'e ɪ fsʲˈɵ!"
    assert remap_ruphon_ipa(found) == "fsʲˈɵ, fsʲˈe ɪ fsʲˈɵ!"
    assert apply_word_overrides("все тут", "fsʲe tut  x") == "fsʲe tut  x"
    assert apply_word_overrides("дом", "dom", {"дом": "dˈom"}) == "dˈom"


def test_words_that_do_not_pair_are_an_error() -> None:
    with pytest.raises(SynthesisError, match=r"2 words became 3, so that .* which is 'всё'"):
        apply_word_overrides("всё тут", "fsʲe t ut")


class _Accent:
    def load(self, **options: Any) -> None:
        self.options = options

    def process_all(self, text: str) -> str:
        return text.replace("замок", "зам+ок")


class _Phon:
    """As the package has it: what is loaded is another object than the one it is called on."""

    loaded = False

    @classmethod
    def load(cls, model_type: str, workdir: str | None = None, device: str = "CPU") -> "_Phon":
        assert model_type in ("small", "big")
        phon = cls()
        phon.loaded = True
        return phon

    def phonemize(self, text: str, *, put_stress: bool, stress_symbol: str) -> str:
        assert put_stress
        assert self.loaded
        table = {"зам+ок": "zɐm'ok", "+ёлка": "j'olkə", "всё": "fsʲe", "вс+ё": "fsʲ'e"}
        words = (table[word.rstrip(",;")] + word[len(word.rstrip(",;")) :] for word in text.split())
        return "".join(f"{word}  " for word in words)


@pytest.fixture
def russian(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put packages of the documented names and calls in the place of the real ones."""
    monkeypatch.setitem(sys.modules, "ruaccent", _module("ruaccent", RUAccent=_Accent))
    monkeypatch.setitem(sys.modules, "ruphon", _module("ruphon", RUPhon=_Phon))


def _module(name: str, **content: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(content)
    return module


@pytest.mark.usefixtures("russian")
def test_russian_is_accented_phonemised_and_remapped() -> None:
    front = RussianFront()
    assert front.phonemize("замок всё ёлка") == "zɐmˈok fsʲˈɵ jˈolkə"
    assert front.phonemize("замок — «всё», ёлка") == "zɐmˈok; fsʲˈɵ, jˈolkə"
    with pytest.raises(SynthesisError, match="RUAccent and RUPhon cannot read it: 'слово'"):
        RussianFront("models").phonemize("слово")
    assert set(russian_identity()) == {"ruaccent", "ruphon"}


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes packages unimportable."""

    def hide(*names: str) -> None:
        original = builtins.__import__

        def importing(name: str, *arguments: Any, **more: Any) -> Any:
            if name.partition(".")[0] in names:
                raise ImportError(f"No module named {name!r}")
            return original(name, *arguments, **more)

        monkeypatch.setattr(builtins, "__import__", importing)

    return hide


def test_a_missing_front_end_names_its_extra(hidden: Callable[..., None]) -> None:
    hidden("ruaccent", "ruphon", "phonikud", "phonikud_onnx")
    reader = BlueReader("auto")
    for language, extra in (("ru", "russian"), ("he", "hebrew")):
        for _ in range(2):  # remembered, and said again
            with pytest.raises(DeviceError, match=f"install the extra '{extra}'"):
                reader.read("слово", language)


def test_trap_espeak_never_reads_russian(
    monkeypatch: pytest.MonkeyPatch, hidden: Callable[..., None]
) -> None:
    hidden("ruaccent", "ruphon")
    assert "ru" not in reading.ESPEAK_VOICES
    seen: list[tuple[str, str]] = []

    class Espeak:
        identity = {"phonemizer": "stand-in"}  # noqa: RUF012  # as the real one's property

        def phonemize(self, text: str, voice: str) -> list[str]:
            seen.append((text, voice))
            return ["wˈʌn.", "tˈuː."]

    monkeypatch.setattr(reading, "PiperEspeak", Espeak)
    reader = BlueReader("piper")
    assert reader.read("“One” – two…", "en") == "wˈʌn. tˈuː."
    for language in ("de", "es", "it"):
        reader.read("uno", language)
    assert [voice for _, voice in seen] == ["en-us", "de", "es", "it"]
    with pytest.raises(DeviceError, match="RUAccent and RUPhon cannot be loaded"):
        reader.read("слово", "ru")
    assert len(seen) == 4


def test_trap_one_espeak_serves_all_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    class Espeak:
        identity = {"phonemizer": "stand-in"}  # noqa: RUF012  # as the real one's property

        def __init__(self) -> None:
            made.append(self)

        def phonemize(self, text: str, voice: str) -> list[str]:
            return ["a."]

    monkeypatch.setattr(reading, "PiperEspeak", Espeak)
    reader = BlueReader("piper")
    for language in ("en", "de", "en", "it"):
        reader.read("a", language)
    assert len(made) == 1


def test_figures_are_refused_where_no_front_end_spells_them() -> None:
    reader = BlueReader("auto")
    for language in ("he", "ru", "yi"):
        with pytest.raises(SynthesisError, match=f"figures in '{language}' cannot be read"):
            reader.read("а 7", language)
    with pytest.raises(SynthesisError, match="no front end for 'yi' was released"):
        reader.read("ווארט", "yi")


def test_readers_without_espeak() -> None:
    assert BlueReader("ipa").read("ɐ", "ru") == "ɐ"
    with pytest.raises(SynthesisError, match="reads no text: give phonemes with the segment"):
        BlueReader("none").read("a", "en")
    with pytest.raises(ConfigError, match="no phonemizer 'espeak'"):
        BlueReader("espeak")


def test_no_espeak_at_all_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "piper_installed", lambda: False)
    monkeypatch.setenv("PATH", "")
    reader = BlueReader("auto")
    with pytest.raises(DeviceError, match="install the extra 'espeak', or the program espeak-ng"):
        reader.read("a", "en")
    with pytest.raises(DeviceError, match="no program 'espeak-ng' on PATH"):
        BlueReader("espeak-ng")


def test_hebrew_is_pointed_and_phonemised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pointed = "שָׁלוֹם"
    phonikud = _module("phonikud", phonemize={pointed: "ʃalˈom"}.__getitem__)
    points = SimpleNamespace(add_diacritics=lambda text: pointed)
    monkeypatch.setitem(sys.modules, "phonikud", phonikud)
    onnx = _module("phonikud_onnx", Phonikud=lambda model: points)
    monkeypatch.setitem(sys.modules, "phonikud_onnx", onnx)
    assert HebrewFront("model.onnx").phonemize("שלום") == "ʃalˈom"
    bare = HebrewFront()
    assert bare.phonemize(pointed) == "ʃalˈom"
    with pytest.raises(SynthesisError, match=r"no points: name the model .* option hebrew_model"):
        bare.phonemize("שלום")
    with pytest.raises(SynthesisError, match="Phonikud cannot read it"):
        bare.phonemize("אָבָגָ")
    assert is_pointed(pointed)
    assert not is_pointed("שלום")
    (tmp_path / "model.onnx").write_bytes(b"points")
    assert hebrew_identity() != hebrew_identity(str(tmp_path / "model.onnx"))
    with pytest.raises(DeviceError, match="hebrew_model: nowhere cannot be read"):
        hebrew_identity("nowhere")


def test_the_espeak_inside_piper_reads_ipa_of_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    if not reading.piper_installed():
        pytest.skip("the extra espeak is not installed")
    reader = BlueReader("piper")
    assert reader.read("The lamp went out.", "en") == "ðə lˈæmp wɛnt ˈaʊt."
    assert reader.read("Ich sah.", "de").endswith("zˈɑː.")
