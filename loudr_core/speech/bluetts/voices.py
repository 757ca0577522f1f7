"""Voice files: a style for the sound and one for the pace, as nested lists of numbers in JSON."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.bluetts.tables import STYLE_SHAPE
from loudr_core.speech.files import read_whole
from loudr_core.speech.json_values import Section, parse_object, shown
from loudr_core.speech.protocol import VoiceInfo

__all__ = ["PITCHES_HZ", "PREFERRED", "BlueVoice", "read_voice", "read_voices", "voice_info"]

PREFERRED: Final = "libri_male_6209"
"""The voice that comes first, where the bundle has it."""
PITCHES_HZ: Final = {
    "libri_male_6209": 128.0,
    "libri_male_8088": 112.0,
    "libri_female_6147": 211.0,
    "libri_female_1088": 204.0,
    "female": 180.0,
}
"""Documented fundamental frequencies (BlueTTS specification, section 1)."""

_PACE_SHAPE: Final = (1, 8, 16)
_MOST_BYTES: Final = 16 << 20
_MOST_STD: Final = 0.3
"""Styles of the release measure 0.055 to 0.064."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlueVoice:
    """One voice.

    Parameters
    ----------
    name : str
    style : float32, shape (1, 50, 256)
        What text encoder and vector estimator take: `style_ttl`.
    pace : float32, shape (1, 8, 16)
        What the duration predictor takes: `style_dp`.
    sha256 : str
        Of the file.
    """

    name: str
    style: NDArray[np.float32]
    pace: NDArray[np.float32]
    sha256: str


def read_voices(paths: Iterable[Path]) -> dict[str, BlueVoice]:
    """Read voice files, and return the voices by name: the preferred first, `female` last.

    Raises
    ------
    BundleError
        As `read_voice`.
    """
    voices = [read_voice(path) for path in paths]
    # Whoever chooses no voice gets the first: not the one whose rights are unclear.
    voices.sort(key=lambda each: (each.name == "female", each.name != PREFERRED, each.name))
    return {voice.name: voice for voice in voices}


def read_voice(path: Path) -> BlueVoice:
    """Read a voice file.

    Raises
    ------
    BundleError
        The file is missing or no JSON, or a style has wrong dimensions or numbers.
    """
    text = read_whole(path, most_bytes=_MOST_BYTES, advice="fetch the voice again")
    document = Section(parse_object(text, what="voice", path=path), path=path, what="voice")
    style = _style(document, "style_ttl", STYLE_SHAPE)
    spread = float(style.std())
    if spread > _MOST_STD:
        raise document.fault(
            "style_ttl.data",
            f"has a standard deviation of {spread:.2f}, expected below {_MOST_STD}: it is a style "
            "of another checkpoint",
        )
    return BlueVoice(
        name=path.stem,
        style=style,
        pace=_style(document, "style_dp", _PACE_SHAPE),
        sha256=hashlib.sha256(text).hexdigest(),
    )


def voice_info(voice: BlueVoice) -> VoiceInfo:
    """Return what is known of a voice; it speaks every language of the model."""
    known = voice.name.startswith("libri_")
    pitch = PITCHES_HZ.get(voice.name)
    return VoiceInfo(
        name=voice.name,
        language="en",
        sha256=voice.sha256,
        description=f"about {pitch:.0f} Hz; de, en, es, he, it, ru, yi" if pitch else "",
        licence=(
            "LibriTTS-R: CC BY 4.0; weights: none declared"
            if known
            else "none declared: check the rights before publishing"
        ),
    )


def _style(document: Section, key: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    section = document.section(key)
    dims, data = section.wholes("dims"), section.get("data")
    if dims != shape:
        raise section.fault("dims", f"must be {list(shape)}, found {list(dims)}")
    if not isinstance(data, list):
        raise section.fault("data", f"must be a list, found {shown(data)}")
    try:
        numbers = np.asarray(data).reshape(-1)
    except ValueError:  # ragged
        numbers = np.array([None])
    if numbers.dtype.kind not in "fiu":
        raise section.fault("data", "must be nested lists of numbers of even lengths")
    if numbers.size != math.prod(shape):
        raise section.fault("data", f"holds {numbers.size} numbers, dims ask {math.prod(shape)}")
    with np.errstate(over="ignore"):  # said below
        style = numbers.astype(np.float32).reshape(shape)
    if not np.isfinite(style).all():
        raise section.fault("data", "is not finite")
    return style
