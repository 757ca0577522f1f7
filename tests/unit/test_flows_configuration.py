"""Settings come from where they were put last, and a slip of the pen is an error."""

import os
from pathlib import Path

import pytest

from flows.configuration import Settings, load, shipped_profiles
from loudr_core.errors import ConfigError


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("LOUDR_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(
        'engine = "fake"\nspeed = 1.1\nworkers = 3\n[pauses]\nsentence = 111\nchapter = 999\n',
        encoding="utf-8",
    )
    return str(path)


def test_defaults() -> None:
    settings = load()
    assert (settings.engine, settings.speed, settings.book_seed) == ("embedded", 1.0, 7)
    assert settings.executor == "local"
    assert settings.store_url == str(settings.home / "store")


def test_profile_over_default(profile: str) -> None:
    settings = load(profile)
    assert (settings.engine, settings.speed, settings.workers) == ("fake", 1.1, 3)
    assert settings.pauses.sentence == 111
    assert settings.pauses.paragraph == 600


def test_environment_over_profile(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_SPEED", "1.2")
    monkeypatch.setenv("LOUDR_PAUSES__SENTENCE", "222")
    settings = load(profile)
    assert settings.speed == 1.2
    assert (settings.pauses.sentence, settings.pauses.chapter) == (222, 999)
    assert settings.engine == "fake"


def test_argument_over_environment(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_SPEED", "1.2")
    monkeypatch.setenv("LOUDR_WORKERS", "5")
    settings = load(profile, speed=1.3, workers=None)
    assert (settings.speed, settings.workers) == (1.3, 5)


def test_the_profile_may_be_named_by_the_environment(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUDR_PROFILE", profile)
    assert load().engine == "fake"
    assert load("audiobook").engine == "embedded"


def test_home_holds_the_store_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path))
    assert load().store_url == str(tmp_path / "store")
    assert load(store="/elsewhere").store_url == "/elsewhere"


@pytest.mark.parametrize("name", list(shipped_profiles()))
def test_every_shipped_profile_loads(name: str) -> None:
    assert load(name).engine


def test_what_decides_the_sound_is_apart_from_the_machine() -> None:
    one = load(workers=1, executor="inline", store="/a").profile
    assert one == load(workers=2, store="/b").profile
    assert set(type(one).model_fields).isdisjoint({"home", "store", "workers", "executor"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spede = 1.1", "unknown setting spede; did you mean speed"),
        ("[pauses]\nsentance = 1", r"unknown setting pauses\.sentance"),
        ("speed = 9", r"setting speed = 9: .*less than or equal to 2.*mine\.toml"),
        ('speed = "fast"', "setting speed = 'fast'"),
        ("speed = ", "is not TOML"),
        ("[output]\nbit_rate = 1", r"output\.bit_rate = 1"),
        ("workers = 0", "workers = 0"),
    ],
)
def test_a_fault_in_a_profile_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said) as caught:
        load(str(path))
    assert "\n" not in caught.value.message


def test_a_profile_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"mine\.toml is not TOML"):
        load(str(path))


def test_a_missing_profile_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no profile 'nothing\.toml'.*acx, audiobook"):
        load("nothing.toml")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LOUDR_SPEDE", "1", "unknown environment variable LOUDR_SPEDE; did you mean LOUDR_SPEED"),
        ("LOUDR_PAUSES__SENTANCE", "1", r"unknown setting pauses\.sentance"),
        ("LOUDR_PAUSES__CHAPTR", "1", r"pauses\.chaptr; did you mean pauses\.chapter\?"),
        ("LOUDR_SPEED", "fast", "setting speed = 'fast'"),
        ("LOUDR_EXECUTOR", "cloud", "setting executor = 'cloud'"),
        ("LOUDR_OPTIONS", "{not json", "LOUDR_OPTIONS|options"),
        ("LOUDR_PAUSES", "7", "LOUDR_PAUSES|pauses"),
    ],
)
def test_a_fault_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=said) as caught:
        load()
    assert "\n" not in caught.value.message


def test_an_argument_out_of_range_is_named() -> None:
    with pytest.raises(ConfigError, match="setting speed = 3"):
        load(speed=3.0)


def test_an_empty_argument_is_not_a_missing_one() -> None:
    assert load(options={}).options == {}
    assert isinstance(load(), Settings)


def test_a_profile_has_a_name_that_people_know_it_by(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(profile).profile_name == "mine"
    assert load("acx").profile_name == "acx"
    assert load().profile_name == load("audiobook").profile_name == ""
    monkeypatch.setenv("LOUDR_PROFILE", "acx")
    assert load().profile_name == "acx"


def test_a_stored_profile_stands_as_it_was_whatever_is_set_now(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = load(profile).profile.model_dump(mode="json")
    monkeypatch.setenv("LOUDR_DETECTORS", '{"clip_level": 0.5}')
    monkeypatch.setenv("LOUDR_LOUDNESS__TARGET_LUFS", "-25")
    settings = load(workers=5).as_planned(kept, "mine")
    assert settings.profile.model_dump(mode="json") == kept
    assert (settings.workers, settings.profile_name) == (5, "mine")
