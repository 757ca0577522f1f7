"""Voices and casts of a profile: what is left open, and what cannot be meant."""

from pathlib import Path
from typing import Any

import pytest

from flows.configuration import load
from flows.engines import engine_specs, pool_size, refuse_absent_bundles
from flows.opening import Engines, open_render
from loudr_core.book.read import read_book
from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.jobs.casting import cast_voice, check_cast
from loudr_core.render.book import RenderOptions
from loudr_core.render.planning import resolved
from loudr_core.settings import CastProfile, Profile, VoiceProfile
from loudr_core.testing import MemoryStore
from loudr_core.text.segment import segment_book

ROOT = Path(__file__).parents[2]

CAST = """
engine = "koko"
bundle = "models/koko"
options = { steps = 4 }
speed = 1.1

[voices.boy]
voice = "koko:001"

[voices.aunt]
engine = "loudr1"
bundle = "models/loudr-1"
provider = "cuda"
speed = 0.9
language = "de"

[[cast]]
voice = "boy"
chapters = 2

[[cast]]
voice = "aunt"
title = "Letter *"
"""


@pytest.fixture
def written(tmp_path: Path) -> str:
    path = tmp_path / "cast.toml"
    path.write_text(CAST, encoding="utf-8")
    return str(path)


def test_a_voice_without_an_engine_has_the_profiles(written: str) -> None:
    profile = load(written).profile
    boy, aunt = profile.voice_profile("boy"), profile.voice_profile("aunt")
    assert (boy.engine, boy.bundle, boy.options) == ("koko", "models/koko", {"steps": 4})
    assert (boy.voice, boy.speed, boy.provider) == ("koko:001", 1.1, "cpu")
    assert (aunt.engine, aunt.bundle, aunt.options) == ("loudr1", "models/loudr-1", {})
    assert (aunt.voice, aunt.speed, aunt.provider) == (None, 0.9, "cuda")
    assert profile.voice_profile("").engine == "koko"


def test_voices_of_one_engine_are_loaded_as_one(written: str) -> None:
    specs = engine_specs(load(written).profile, MemoryStore())
    assert list(specs) == ["", "boy", "aunt"]
    assert specs[""] == specs["boy"] != specs["aunt"]
    assert specs["aunt"].bundle == str(Path("models/loudr-1").resolve())


@pytest.mark.parametrize(
    ("chapters", "numbers"),
    [
        ("1-3,7", {1, 2, 3, 7}),
        (4, {4}),
        ([2, 5], {2, 5}),
        ("1, 2", {1, 2}),
        ([1, "3-4"], {1, 3, 4}),
    ],
)
def test_chapters_are_told_in_several_ways(
    chapters: str | int | list[int | str], numbers: set[int]
) -> None:
    assert CastProfile(voice="a", chapters=chapters).rule().chapters == numbers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[cast]]\nvoice = "x"\n', "give either chapters or a title"),
        ('[[cast]]\nvoice = "x"\nchapters = 1\ntitle = "y"\n', "give either chapters or a title"),
        ('[[cast]]\nvoice = "x"\nchapters = "3-1"\n', "'3-1' is not a range of chapters"),
        ('[[cast]]\nvoice = "x"\nchapters = [0]\n', "'0' is not a range of chapters"),
        ('[[cast]]\nchapters = 1\n', "cast.0.voice"),
        ('[[cast]]\nvoice = "x"\nchapters = [true]\n', "chapters are a number"),
        ('[[cast]]\nvoice = "x"\nchapters = [[2]]\n', "cast.0.chapters = [[2]]: chapters are"),
        ('[cast]\nvoice = "x"\n', "must be a list, of tables in double brackets"),
        ('voices = 3\n', "setting voices = 3: must be a table"),
        ('[voices]\na = "koko"\n', "setting voices.a = 'koko': must be a table"),
        ('options = { cfg = nan }\n', "cfg = nan is no finite number"),
        ('options = { pace = { it = [-inf] } }\n', "pace.it = -inf is no finite number"),
        ('[voices.a]\noptions = { cfg = 1979-05-27 }\n', "cfg is a date: give text"),
        ('[voices."A B"]\n', "voices.A B"),
        ('[voices.a__b]\n', "voices.a__b"),
        ('[voices.a]\nlanguage = "no language at all"\n', "no language: give a tag"),
        ('[voices.a]\nspeed = 9\n', "voices.a.speed"),
        ('[voices.a]\nbook_seed = 1\n', "unknown setting voices.a.book_seed"),
        ('[output]\nsample_rate_hz = 48000\n', "output.sample_rate_hz = 48000"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(str(path))
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Profile(cast=(CastProfile(voice="tom", chapters=1),)),
         "[[cast]] chapters 1: no voice 'tom' in [voices], which has none"),
        (Profile(voices={"tom": VoiceProfile()}), "[voices.tom] speaks no chapter"),
    ],
)  # fmt: skip
def test_rules_and_voices_belong_together(profile: Profile, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        engine_specs(profile, MemoryStore())
    assert said in caught.value.message


def test_the_front_end_of_a_voice_is_looked_at_too() -> None:
    profile = Profile(
        voices={"aunt": VoiceProfile(engine="loudr1", options={"text_funnel": "loudkit"})},
        cast=(CastProfile(voice="aunt", chapters=1),),
    )
    profile.text_options(max_characters=9, target_characters=9)
    with pytest.raises(ConfigError, match="text_funnel 'loudkit' makes spoken words itself"):
        profile.text_options(max_characters=9, target_characters=9, name="aunt")


def test_a_worker_says_where_its_models_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_VOICES__AUNT__BUNDLE", "/models/loudr-1")
    assert load().voices["aunt"].bundle == "/models/loudr-1"


def test_a_machine_that_keeps_a_model_speaks_books_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOUDR_VOICES__AUNT__BUNDLE", "/models/loudr-1")
    assert list(engine_specs(load().profile, MemoryStore())) == [""]
    path = tmp_path / "idle.toml"
    path.write_text("[voices.aunt]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"aunt\] speaks no chapter"):
        engine_specs(load(str(path)).profile, MemoryStore())
    monkeypatch.setenv("LOUDR_VOICES__UNCLE__VOICE", "heart")
    with pytest.raises(ConfigError, match=r"uncle\] speaks no chapter"):
        engine_specs(load().profile, MemoryStore())


def test_a_render_asks_no_pool_for_a_voice_that_its_book_has_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOUDR_VOICES__AUNT__BUNDLE", "/models/loudr-1")
    settings = load(home=tmp_path)
    pools: Any = {name: object() for name in engine_specs(settings.profile, MemoryStore())}
    book = tmp_path / "book.md"
    open_render(book, settings, store=MemoryStore(), pool=Engines(pools), options=RenderOptions())


def test_a_model_that_has_moved_is_found_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(
        f'engine = "koko"\nbundle = "{tmp_path}/koko"\n[voices.aunt]\nengine = "bluetts"\n'
        f'bundle = "{tmp_path}/blue"\n[[cast]]\nvoice = "aunt"\nchapters = 1\n',
        encoding="utf-8",
    )
    kept = load(str(path)).profile.model_dump(mode="json")
    planned = load().as_planned(kept, "mixed").profile
    assert planned.model_dump(mode="json") == kept
    with pytest.raises(BundleError, match=r"/koko, where .* 'koko': LOUDR_BUNDLE says where"):
        refuse_absent_bundles(planned, MemoryStore())
    (tmp_path / "koko").mkdir()
    with pytest.raises(BundleError, match=r"/blue, .*LOUDR_VOICES__AUNT__BUNDLE says where"):
        refuse_absent_bundles(planned, MemoryStore())
    monkeypatch.setenv("LOUDR_BUNDLE", str(tmp_path))
    monkeypatch.setenv("LOUDR_VOICES__AUNT__BUNDLE", str(tmp_path / "koko"))
    moved = load().as_planned(kept, "mixed").profile
    assert (moved.bundle, moved.voices["aunt"].bundle) == (str(tmp_path), f"{tmp_path}/koko")
    refuse_absent_bundles(moved, MemoryStore())
    monkeypatch.setenv("LOUDR_ENGINE", "sanotts")  # the folder is of that engine
    assert load().as_planned(kept, "mixed").profile.bundle == f"{tmp_path}/koko"


def test_the_environment_gives_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_OUTPUT__SAMPLE_RATE_HZ", "44100")
    monkeypatch.setenv("LOUDR_OPTIONS__N_STEPS", "4")
    monkeypatch.setenv("LOUDR_OPTIONS__PRECISION", "float16")
    monkeypatch.setenv("LOUDR_VOICES__AUNT__OPTIONS__PAD_SPACES", "false")
    settings = load()
    assert settings.output.sample_rate_hz == 44_100
    assert settings.options == {"n_steps": 4, "precision": "float16"}
    assert settings.voices["aunt"].options == {"pad_spaces": False}


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LOUDR_VOICES__AUNT__SPEED", "fast", "voices.aunt.speed = 'fast'"),
        ("LOUDR_OUTPUT__SAMPLE_RATE_HZ", "22050", "output.sample_rate_hz = 22050"),
        ("LOUDR_OPTIONS__CFG", "NaN", "cfg = nan is no finite number"),
        ("LOUDR_VOICES__AUNT", "x", "voices.aunt = 'x': must be a table"),
    ],
)
def test_a_wrong_variable_is_named_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str, said: str
) -> None:
    path = tmp_path / "right.toml"
    path.write_text("speed = 1.0\n", encoding="utf-8")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        load(str(path))
    assert said in caught.value.message
    named = "LOUDR_OPTIONS" if "OPTIONS" in variable else variable
    assert f"(variable {named}" in caught.value.message


def test_processes_are_as_many_as_the_largest_engine_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Memory:
        available = 6 * 2**30

    monkeypatch.setattr("flows.engines.psutil.virtual_memory", lambda: Memory)
    cast = (CastProfile(voice="aunt", chapters=1),)
    large = VoiceProfile(engine="loudr1")
    alone = load(workers=3)
    mixed = alone.model_copy(update={"voices": {"aunt": large}, "cast": cast})
    assert pool_size(alone) == 3
    assert pool_size(mixed) == 1
    Memory.available = 2**30
    with pytest.raises(DeviceError, match="an engine process needs"):
        pool_size(mixed)


def test_a_profile_without_a_cast_is_what_it_was() -> None:
    """Plans are called by their profile: new settings that say nothing must not rename them."""
    speaker = type("Speaker", (), {"voice": "heart"})()
    said = resolved(Profile(), speaker)
    assert not {"voices", "cast", "pronunciations"} & set(said)
    assert set(said["output"]) == {"bit_rate", "lead_in_ms"}


def test_the_example_fits_the_sample_book() -> None:
    profile = load(str(ROOT / "examples" / "mixed.toml")).profile
    book = read_book(ROOT / "examples" / "the-lamp-at-skerry-head.epub")
    options = profile.text_options(max_characters=400, target_characters=200)
    chapters = segment_book(book, options).chapters
    rules = profile.cast_rules()
    check_cast(rules, chapters)
    cast = {each.number: cast_voice(rules, each.number, each.title) for each in chapters}
    assert {number: name for number, name in cast.items() if name} == {
        4: "keeper", 5: "keeper", 7: "boat",
    }  # fmt: skip


def test_the_readme_shows_a_cast_that_loads(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("## Several voices")[2].partition("```toml\n")[2].partition("```")[0]
    path = tmp_path / "shown.toml"
    path.write_text(shown, encoding="utf-8")
    assert {rule.voice for rule in load(str(path)).profile.cast_rules()} == {"keeper", "boat"}
