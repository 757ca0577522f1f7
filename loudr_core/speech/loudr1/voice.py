"""Voice profiles: what an enrolled voice is made of; loudr-1 specification, section 5."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.files import file_sha256
from loudr_core.speech.json_values import Section, parse_object, shown
from loudr_core.speech.loudr1.algorithm import ACOUSTIC_TOKENS, MEL_BINS
from loudr_core.speech.loudr1.container import (
    Header,
    encode_container,
    read_header,
    read_tensor,
)

__all__ = ["ENROLMENTS", "VoiceProfile", "read_voice", "write_voice"]

ENROLMENTS: Final = ("first-10s", "first-10s-pause")
"""How a prompt may have been cut from its recording."""
_VERSION: Final = 1
_MOST_BYTES: Final = 8 << 20
_NAME_CHARACTERS: Final = 200
_SPEECH_VOCABULARY: Final = 8194
_SMALLEST_NORM: Final = 1e-6
_TENSORS: Final = (
    "speaker_embedding",
    "flow_embedding",
    "prompt_tokens",
    "prompt_mel",
    "cond_prompt_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VoiceProfile:
    """An enrolled voice; the arrays are read-only.

    Parameters
    ----------
    name : str
        At most 200 characters.
    speaker_embedding : ndarray
        float32, shape (256,).
    flow_embedding : ndarray
        float32, shape (192,).
    prompt_tokens : ndarray
        int64, shape (n,), ids 0 to 6560.
    prompt_mel : ndarray
        float32, shape (80, m), natural logarithm of mel magnitudes.
    cond_prompt_tokens : ndarray
        int64, shape (k,), ids 0 to 8193.
    language : str
        A language tag; empty means English.
    enrolment : str
        One of `ENROLMENTS`.
    source_sample_rate_hz : int
        Of the recording.
    sha256 : str
        Of the file; empty for a profile that was never one.
    """

    name: str
    speaker_embedding: NDArray[np.float32]
    flow_embedding: NDArray[np.float32]
    prompt_tokens: NDArray[np.int64]
    prompt_mel: NDArray[np.float32]
    cond_prompt_tokens: NDArray[np.int64]
    language: str = "en"
    enrolment: str = "first-10s"
    source_sample_rate_hz: int = 24_000
    sha256: str = ""


def read_voice(path: Path) -> VoiceProfile:
    """Return the profile in a file.

    Embeddings and mel may be stored in any float type, tokens in any integer type; they come back
    as float32 and int64.

    Raises
    ------
    BundleError
        The file is missing, damaged or above 8 MiB, its header or a tensor is wrong, or it is of
        another version; `context["key"]` names what.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BundleError(
            f"voice {path} cannot be read ({error.strerror}): check the path", path=str(path)
        ) from None
    if size > _MOST_BYTES:
        raise BundleError(
            f"voice {path} has {size} bytes, above the 8 MiB of a voice profile: "
            "is it a checkpoint?",
            path=str(path),
        )
    header = read_header(path)
    facts = _facts(path, header)
    arrays = {name: read_tensor(path, header, name) for name in _TENSORS}
    section = Section({}, path=path, what="voice")
    return VoiceProfile(**facts, **_checked(arrays, section), sha256=file_sha256(path))


def write_voice(profile: VoiceProfile, path: Path) -> VoiceProfile:
    """Write a profile, through a file beside it that is renamed, and return it with its SHA-256.

    Raises
    ------
    ValueError
        The profile breaks a rule that `read_voice` holds, or is too large for a file.
    OSError
        The folder is missing or cannot be written to.
    """
    try:
        arrays = _checked(
            {name: getattr(profile, name) for name in _TENSORS}, Section({}, what="voice")
        )
        facts = _header_facts(Section(_header(profile), what="voice header"), profile.name)
    except BundleError as error:
        raise ValueError(error.message) from None
    content = encode_container(arrays, {"voice": json.dumps(_header(profile))})
    if len(content) > _MOST_BYTES:
        raise ValueError(f"voice {profile.name!r} needs {len(content)} bytes, above 8 MiB")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return VoiceProfile(**facts, **arrays, sha256=hashlib.sha256(content).hexdigest())


def _header(profile: VoiceProfile) -> dict[str, object]:
    return {
        "format_version": _VERSION,
        "name": profile.name,
        "source_sample_rate": profile.source_sample_rate_hz,
        "language": profile.language,
        "enrolment": profile.enrolment,
    }


def _facts(path: Path, header: Header) -> dict[str, Any]:
    text = header.metadata.get("voice", "{}")
    values = parse_object(text, what="voice header", path=path)
    return _header_facts(Section(values, path=path, what="voice header"), path.stem)


def _header_facts(section: Section, stem: str) -> dict[str, Any]:
    version = section.whole("format_version", 0)
    if version != _VERSION:
        raise section.fault(
            "format_version", f"is {shown(version)}; {_VERSION} is read: enrol the voice again"
        )
    rate = section.whole("source_sample_rate", 24_000)
    if rate <= 0:
        raise section.fault("source_sample_rate", f"must be above 0, found {shown(rate)}")
    return {
        "name": section.text("name", stem)[:_NAME_CHARACTERS],
        "language": section.text("language", "en"),
        "enrolment": section.choice("enrolment", ENROLMENTS, ENROLMENTS[0]),
        "source_sample_rate_hz": rate,
    }


def _checked(arrays: dict[str, Any], section: Section) -> dict[str, Any]:
    """Return the arrays in their types, read-only, or raise on the first that breaks a rule."""
    checked: dict[str, NDArray[Any]] = {
        "speaker_embedding": _embedding(arrays, "speaker_embedding", 256, section),
        "flow_embedding": _embedding(arrays, "flow_embedding", 192, section),
        "prompt_tokens": _tokens(arrays, "prompt_tokens", ACOUSTIC_TOKENS, section),
        "prompt_mel": _mel(arrays, section),
        "cond_prompt_tokens": _tokens(arrays, "cond_prompt_tokens", _SPEECH_VOCABULARY, section),
    }
    for array in checked.values():
        array.setflags(write=False)
    return checked


def _embedding(
    arrays: dict[str, NDArray[Any]], name: str, size: int, section: Section
) -> NDArray[np.float32]:
    given = arrays[name]
    if given.shape != (size,):
        raise section.fault(name, f"must have shape ({size},), found {given.shape}")
    values = _floats(given, name, section)
    norm = float(np.linalg.norm(values.astype(np.float64)))
    if norm < _SMALLEST_NORM:
        raise section.fault(name, f"must have a norm of 1e-6 or more, found {norm:g}")
    return values


def _mel(arrays: dict[str, NDArray[Any]], section: Section) -> NDArray[np.float32]:
    given = arrays["prompt_mel"]
    if given.ndim != 2 or given.shape[0] != MEL_BINS:
        raise section.fault("prompt_mel", f"must have {MEL_BINS} rows, found shape {given.shape}")
    return _floats(given, "prompt_mel", section)


def _floats(given: NDArray[Any], name: str, section: Section) -> NDArray[np.float32]:
    if given.dtype.kind != "f":
        raise section.fault(name, f"must hold floats, found {given.dtype}")
    # A copy: a profile shares its arrays with nobody.
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(given, np.float32, order="C")
    if not np.isfinite(values).all():
        raise section.fault(name, "must be finite in float32, found NaN or infinity")
    return values


def _tokens(
    arrays: dict[str, NDArray[Any]], name: str, limit: int, section: Section
) -> NDArray[np.int64]:
    given = arrays[name]
    if given.ndim != 1:
        raise section.fault(name, f"must have one axis, found shape {given.shape}")
    if given.dtype.kind not in "iu":
        raise section.fault(name, f"must hold integers, found {given.dtype}")
    wrong = given[(given < 0) | (given >= limit)]
    if wrong.size:
        raise section.fault(name, f"must hold ids 0 to {limit - 1}, found {wrong[0]}")
    return np.array(given, np.int64, order="C")
