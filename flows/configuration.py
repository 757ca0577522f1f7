"""Settings from where operators put them: argument, then `LOUDR_*`, then profile, then default.

The only module that reads the environment.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from loudr_core.errors import ConfigError
from loudr_core.settings import Profile, VoiceProfile
from loudr_core.toml_text import parse_toml

__all__ = ["EXECUTORS", "PoolSettings", "Settings", "load", "shipped_profiles"]

PREFIX = "LOUDR_"
_Executor = Literal["inline", "local", "pool"]
EXECUTORS: tuple[str, ...] = get_args(_Executor)
"""Where a render may run."""
_DEFAULT_PROFILE = "audiobook"
_PROFILE = tuple(Profile.model_fields)
_PLAIN_WORDS = {
    "tuple_type": "must be a list, of tables in double brackets",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "string_type": "must be text",
    "string_pattern_mismatch": "names are of a-z and 0-9, with - or _ between them",
}
"""For what pydantic says in the words of its own trade."""
_OTHER_VARIABLES = {"LOUDR_TEST_DATA", "LOUDR_PROFILE"}


class PoolSettings(BaseModel):
    """How the executor `pool` gives shards to workers, and when it gives one out again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deployment: str = Field(default="render-shard/render-shard", pattern="^[^/]+/[^/]+$")
    stall_s: float = Field(default=30.0, ge=10, le=7200)
    """Seconds without a sign of life until a run that was at work counts as lost; it gives one
    every 4 seconds."""
    start_s: float = Field(default=300.0, ge=10, le=7200)
    """The same for a run whose process has not said anything yet."""
    attempts: int = Field(default=3, ge=1, le=20)
    """Runs that a shard gets."""
    shard_audio_s: float = Field(default=1800.0, ge=1, le=18_000)
    """Estimated audio of the smallest shards: each costs a process and an engine's load."""


class Settings(BaseSettings, Profile):
    """A profile, and where this machine keeps and runs things."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    home: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("loudr")))
    store: str | None = None
    """Folder or URL of the store; `home/store` when None."""
    workers: int | None = Field(default=None, ge=1, le=256)
    """Engine processes; one per core, as memory allows, when None."""
    hang_s: float = Field(default=60.0, ge=1, le=7200)
    """Seconds that a segment may take, or `hang_factor` times its estimated audio if that is more;
    an engine process that takes longer is taken to hang, and replaced."""
    hang_factor: float = Field(default=20.0, gt=0, le=10_000)
    executor: _Executor = "local"
    pool: PoolSettings = PoolSettings()
    metrics_port: int | None = Field(default=None, ge=1, le=65_535)
    """Serve numbers for Prometheus at this port; nothing when None."""
    metrics_host: str = "127.0.0.1"
    """The address to serve them at; `0.0.0.0` for other machines."""
    price_per_hour: float | None = Field(default=None, ge=0, le=1e6)
    """What an hour of one engine process costs, for the pages and events of runs."""
    currency: str = Field(default="", max_length=16)
    _profile_name: str = PrivateAttr(default="")
    _placed: frozenset[str] = PrivateAttr(default=frozenset())
    _environment: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read no .env file and no secrets folder; the TOML profile comes in through `load`."""
        return (init_settings, env_settings)

    @property
    def store_url(self) -> str:
        """Where books, takes and results lie."""
        return self.store or str(self.home.expanduser() / "store")

    @property
    def profile_name(self) -> str:
        """What people call the profile: its file's stem; empty for none and for the default."""
        return self._profile_name

    def as_planned(self, profile: Mapping[str, Any], name: str) -> "Settings":
        """Return the settings of this machine with the profile of a stored plan.

        Where its models lie is of the machine: variables for that hold, as they do on a worker.
        """
        kept = _moved(Profile.model_validate(dict(profile)), self._environment)
        settings = self.model_copy(update={each: getattr(kept, each) for each in _PROFILE})
        settings._profile_name = name
        return settings

    @property
    def profile(self) -> Profile:
        """The part that decides how a book sounds."""
        kept = self.model_dump(include=set(Profile.model_fields), mode="python")
        for name in self._placed - {rule.voice for rule in self.cast}:
            kept["voices"].pop(name, None)
        return Profile.model_validate(kept)


def load(profile: str | None = None, **arguments: object) -> Settings:
    """Return the settings of this run.

    Parameters
    ----------
    profile : str, optional
        A TOML file, or the name of a shipped profile (`shipped_profiles`); `LOUDR_PROFILE` when
        None.
    **arguments
        What the command line gave; None means not given.

    Raises
    ------
    ConfigError
        The file is missing or not TOML, a key or `LOUDR_*` variable is unknown, or a value is out
        of its range.
    """
    _refuse_unknown_variables(os.environ)
    name = profile or os.environ.get("LOUDR_PROFILE")
    layered = _read_profile(name) if name else {}
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        from_environment = _own_types(Settings().model_dump(exclude_unset=True))
        settings = Settings(**_merge(layered, from_environment, given))
    except ValidationError as exc:
        raise ConfigError(_first_fault(exc, name, given), profile=name or "") from exc
    except SettingsError as exc:  # a table or list in the environment is not JSON
        field = str(exc).partition('"')[2].partition('"')[0]
        raise ConfigError(
            f"{PREFIX}{field.upper()} is not JSON: {exc.__cause__}", variable=field
        ) from exc
    settings._environment = from_environment
    settings._placed = _only_placed(from_environment, layered)
    settings._profile_name = "" if name in (None, _DEFAULT_PROFILE) else Path(name or "").stem
    return settings


def shipped_profiles() -> dict[str, str]:
    """Return the profiles that come with loudr: name to TOML text."""
    folder = resources.files("loudr_core") / "configs"
    source = Path(__file__).parents[1] / "configs"
    files = folder.iterdir() if folder.is_dir() else source.iterdir()
    return {
        item.name.removesuffix(".toml"): item.read_text(encoding="utf-8")
        for item in sorted(files, key=lambda item: item.name)
        if item.name.endswith(".toml")
    }


def _read_profile(name: str) -> dict[str, Any]:
    path = Path(name).expanduser()
    shipped = shipped_profiles()
    if path.is_file():
        text = _text_of(path)
    elif name in shipped:
        text = shipped[name]
    else:
        raise ConfigError(
            f"no profile {name!r}: not a file, and the shipped ones are {', '.join(shipped)}",
            profile=name,
        )
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"profile {name} is not TOML: {exc}", profile=name) from exc


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise ConfigError(f"profile {path} is not TOML: {exc}", profile=str(path)) from exc
    except OSError as exc:
        raise ConfigError(f"cannot read profile {path}: {exc.strerror}", profile=str(path)) from exc


def _merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers laid over one another, tables key by key, later ones on top."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            both = isinstance(below, Mapping) and isinstance(value, Mapping)
            merged[key] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _own_types(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the environment, options of engines as the numbers that they are.

    An engine knows the types of its options, and the environment knows text only.
    """
    for table in (settings, *settings.get("voices", {}).values()):
        if table.get("options"):
            table["options"] = {name: _typed(value) for name, value in table["options"].items()}
    return settings


def _typed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        number = json.loads(value)
    except ValueError:
        return value
    return number if isinstance(number, bool | int | float) else value


def _moved(profile: Profile, environment: Mapping[str, Any]) -> Profile:
    """Return a profile with its models where variables of the environment say that they lie."""

    def place(own: Profile | VoiceProfile, said: Mapping[str, Any]) -> str | None:
        same = said.get("engine") in (None, own.engine)
        moved: str | None = said.get("bundle") if same else None
        return own.bundle if own.bundle is None or moved is None else moved

    said = environment.get("voices", {})
    voices = {
        name: voice.model_copy(update={"bundle": place(voice, said.get(name, {}))})
        for name, voice in profile.voices.items()
    }
    return profile.model_copy(update={"bundle": place(profile, environment), "voices": voices})


def _only_placed(environment: Mapping[str, Any], profile: Mapping[str, Any]) -> frozenset[str]:
    """Return the voices of which all that is said is where the environment has their model.

    `LOUDR_VOICES__NAME__BUNDLE` is set for all that runs on a machine, and its other books know
    nothing of that voice.
    """
    voices, there = environment.get("voices", {}), profile.get("voices", {})
    return frozenset(
        name for name in voices if set(voices[name]) == {"bundle"} and name not in there
    )


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    known = {f"{PREFIX}{field}".upper() for field in Settings.model_fields} | _OTHER_VARIABLES
    for variable in environment:
        if variable.startswith(PREFIX) and variable.partition("__")[0] not in known:
            close = difflib.get_close_matches(variable, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ConfigError(f"unknown environment variable {variable}{hint}", variable=variable)


def _known_settings(model: type[BaseModel], start: str = "") -> list[str]:
    """Return every setting as a profile names it: `speed`, `pauses.chapter`."""
    known = []
    for name, field in model.model_fields.items():
        known.append(start + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            known += _known_settings(field.annotation, f"{start}{name}.")
    return known


def _first_fault(exc: ValidationError, profile: str | None, given: Mapping[str, object]) -> str:
    fault = exc.errors()[0]
    where = ".".join(str(part) for part in fault["loc"] if part != "[key]")
    place = fault["loc"]
    said = _PLAIN_WORDS.get(fault["type"], fault["msg"].lower())
    if fault["type"] == "value_error":
        said = str(fault["ctx"]["error"])
        place = (*place, said.partition(" ")[0])  # of a table, the name in it
    variable = "" if fault["loc"] and fault["loc"][0] in given else _variable(place)
    origin = f" (profile {profile})" if profile else ""
    if variable:
        origin = f" (variable {variable})"
    if fault["type"] == "extra_forbidden":
        close = difflib.get_close_matches(where, _known_settings(Settings), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"unknown setting {where}{hint}{origin}"
    return f"setting {where} = {fault['input']!r}: {said}{origin}"


def _variable(place: tuple[int | str, ...]) -> str:
    """Return the variable of the environment that a setting came from; empty when from none."""
    names = [str(part) for part in place]
    there = {variable.upper(): variable for variable in os.environ}
    for length in range(len(names), 0, -1):
        variable = PREFIX + "__".join(names[:length]).upper()
        if variable in there:
            return there[variable]
    return ""
