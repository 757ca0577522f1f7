"""From a bundle's manifest to its algorithm; loudr-1 specification, sections 3.8, 4.1 and 4.2.

Absent keys take defaults, unknown keys are ignored, and a value of a wrong type or out of its
range is a `BundleError` that names the key. One difference from the reference is deliberate:
`chunking.split_on` and `chunking.abbreviations` must be lists of strings, where the reference
spells other values as Python would.
"""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from loudr_core.speech.json_values import Section, shown
from loudr_core.speech.loudr1.algorithm import (
    UNSET,
    Algorithm,
    Chunking,
    DecodeMode,
    Detectors,
    Sampling,
    Unset,
    Window,
)
from loudr_core.speech.loudr1.algorithm_checks import algorithm_faults

__all__ = [
    "CHECKPOINT_FORMAT",
    "algorithm_from_manifest",
    "check_declaration",
    "parse_algorithm",
    "production_fill",
]

CHECKPOINT_FORMAT: Final = "loudkit-checkpoint"
_VERSIONS = (1, 2)
_RECIPE = "loudkit-1"
_SINGLE: DecodeMode = "single"
_FUSED: DecodeMode = "fusion_mtp2"
_FUSED_VERSION = 2
_CENSUSES = ("silence_render_ids", "quiet_render_ids")
_PRODUCTION: Mapping[str, Mapping[str, object]] = {
    "window": {
        "max_speech_tokens": 255,
        "static_length": 255,
        "pad_token_id": 4254,
        "static_prompt_tokens": 238,
    },
    "eos_floor": {"min_tokens_floor": 10, "min_tokens_text_ratio": 1.2},
}


def algorithm_from_manifest(
    manifest: Mapping[str, object], *, path: Path | None = None
) -> Algorithm:
    """Return the algorithm that a checkpoint's manifest declares, older packs filled in.

    Parameters
    ----------
    manifest : Mapping
        The JSON object in the checkpoint's header.
    path : Path, optional
        The checkpoint, for errors.

    Raises
    ------
    BundleError
        The manifest is not a checkpoint's, or a key has a wrong type or value; the error names it.
    """
    check_declaration(manifest, path=path)
    return parse_algorithm(production_fill(manifest), path=path)


def check_declaration(manifest: Mapping[str, object], *, path: Path | None = None) -> None:
    """Check `format`, `format_version` and that the version knows the decode mode.

    Raises
    ------
    BundleError
        It is another format or version, or the mode is newer than the version.
    """
    top = Section(manifest, path=path)
    found = manifest.get("format")
    if found != CHECKPOINT_FORMAT:
        raise top.fault("format", f"must be {CHECKPOINT_FORMAT!r}, found {shown(found)}")
    version = _version(top)
    if version not in _VERSIONS:
        raise top.fault(
            "format_version",
            f"is {shown(manifest.get('format_version'))}; versions 1 and 2 are read: "
            "get the bundle's release for this loudr, or a newer loudr",
        )
    if _decode_mode(top) == _FUSED and version < _FUSED_VERSION:
        raise top.fault("format_version", f"must be {_FUSED_VERSION} for decode mode {_FUSED!r}")


def production_fill(manifest: Mapping[str, object]) -> dict[str, object]:
    """Return the manifest with what packs older than its keys left to the program.

    Only absent keys are filled; a null stays what it is.
    """
    return {**_PRODUCTION, **manifest}


def parse_algorithm(manifest: Mapping[str, object], *, path: Path | None = None) -> Algorithm:
    """Return the algorithm of a manifest as it stands, without the production fill.

    Raises
    ------
    BundleError
        A key has a wrong type or value; the error names it.
    """
    top = Section(manifest, path=path)
    tokens = top.section("speech_tokens")
    fade = top.get("edge_fade_seconds")
    recipe = manifest.get("recipe_version", _RECIPE)
    if recipe != _RECIPE:
        raise top.fault("recipe_version", f"must be {_RECIPE!r}, found {shown(recipe)}")
    guidance: Any = top.choice("guidance", ("single_path", "cfg_dual_path"), "single_path")
    algorithm = Algorithm(
        recipe_version=_RECIPE,
        guidance=guidance,
        guidance_rate=top.number("guidance_rate", 0.0),
        euler_steps=top.whole("n_cfm_timesteps", 2),
        euler_grid=top.numbers_or_null("euler_grid"),
        decode_mode=_decode_mode(top),
        edge_fade_seconds=0.005 if fade is None else top.number("edge_fade_seconds", 0.005),
        sampling=_sampling(top),
        window=_window(top),
        chunking=_chunking(top.section("chunking")),
        detectors=_detectors(top),
        sample_rate_hz=top.whole("sample_rate", 24_000),
        token_rate_hz=top.number("token_rate_hz", 25.0),
        speech_vocab_size=top.whole("speech_vocab_size", 8194),
        start_speech_token=tokens.whole("start", 6561),
        stop_speech_token=tokens.whole("stop", 6562),
    )
    for fault in algorithm_faults(algorithm):
        raise top.fault(fault.key, fault.problem)
    return algorithm


def _version(top: Section) -> int:
    value = top.get("format_version")
    # The reference takes whatever int() takes: "1" passes, null and lists do not.
    if isinstance(value, int | float | str):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    raise top.fault("format_version", f"must be a version number, found {shown(value)}")


def _decode_mode(top: Section) -> DecodeMode:
    if top.get("decode") is None:
        return _SINGLE
    mode = top.section("decode").choice("mode", (_SINGLE, _FUSED), _SINGLE)
    return _FUSED if mode == _FUSED else _SINGLE


def _sampling(top: Section) -> Sampling:
    given, floor = top.section("sampling_defaults"), top.section("eos_floor")
    default = Sampling()
    return Sampling(
        temperature=given.number("temperature", default.temperature),
        repetition_penalty=given.number("repetition_penalty", default.repetition_penalty),
        min_p=given.number("min_p", default.min_p),
        max_new_tokens=given.whole("max_new_tokens", default.max_new_tokens),
        silence_token_ids=top.wholes("silence_token_ids"),
        min_tokens_floor=floor.whole("min_tokens_floor", default.min_tokens_floor),
        min_tokens_text_ratio=floor.number("min_tokens_text_ratio", default.min_tokens_text_ratio),
    )


def _window(top: Section) -> Window:
    if top.get("window") is None:  # null, like an absent key, is a ragged window
        return Window()
    given = top.section("window")
    return Window(
        max_speech_tokens=given.whole("max_speech_tokens", 255),
        static_length=given.whole_or_null("static_length"),
        pad_token_id=given.whole_or_null("pad_token_id"),
        static_prompt_tokens=given.whole_or_null("static_prompt_tokens"),
    )


def _chunking(given: Section) -> Chunking:
    default = Chunking()
    first: int | Unset | None = UNSET
    if "first_chunk_max_tokens" in given:
        first = given.whole_or_null("first_chunk_max_tokens")
    resplit: Any = given.choice("cap_resplit", ("word", "off"), default.cap_resplit)
    period: Any = given.choice(
        "mid_sentence_period", ("hold", "break"), default.mid_sentence_period
    )
    return Chunking(
        enabled=given.flag("enabled", default.enabled),
        max_tokens=given.whole("max_tokens", default.max_tokens),
        prefix_tokens=given.whole("prefix_tokens", default.prefix_tokens),
        split_on=given.texts("split_on", default.split_on),
        abbreviations=given.texts("abbreviations", default.abbreviations),
        cap_resplit=resplit,
        mid_sentence_period=period,
        first_chunk_max_tokens=first,
    )


_CHOICES = {
    "mode": ("trim", "report", "off"),
    "repetition_resume": ("condemn", "cut"),
    "repetition_silence": ("acoustic", "sampling"),
}


def _detectors(top: Section) -> Detectors:
    given = top.section("postprocess")
    for census in _CENSUSES:
        if census in given:
            raise given.fault(census, "belongs at the manifest's top, beside silence_token_ids")
    values: dict[str, Any] = {census: top.wholes(census) for census in _CENSUSES}
    default = Detectors()
    for field in fields(Detectors):
        name, usual = field.name, getattr(default, field.name)
        if name in _CHOICES:
            values[name] = given.choice(name, _CHOICES[name], usual)
        elif isinstance(usual, int):
            values[name] = given.whole(name, usual)
        elif isinstance(usual, float):
            values[name] = given.number(name, usual)
    return Detectors(**values)
