"""What the engine says of a unit besides its samples: codes, severities, sentences."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.findings import Finding
from loudr_core.speech.bluetts.ipa import Prepared
from loudr_core.speech.bluetts.model import Utterance

__all__ = ["reading_findings", "sound_findings"]

_PACE_S: Final = (0.02, 0.15)
"""Seconds a token at the speed of the voice; outside something is wrong."""
_LEAST_DBFS: Final = -50.0
_SHORT_TOKENS: Final = 10


def reading_findings(
    prepared: Sequence[Prepared], unknown: Counter[str], *, language: str, language_speed: float
) -> Iterator[Finding]:
    """Yield what was not spoken as it was written.

    Parameters
    ----------
    prepared : sequence of Prepared
        The passes of a unit.
    unknown : Counter of str
        Symbols that were left out.
    language : str
        A primary subtag.
    language_speed : float
        The factor on its speed.
    """
    if unknown:
        named = ", ".join(f"{each} U+{ord(each):04X} x{n}" for each, n in unknown.most_common())
        yield Finding(
            code="speech-unknown-phonemes",
            severity="warning",
            message=f"The voice has no symbol for some, and leaves them out: {named}.",
            where={"symbols": unknown.total()},
        )
    if repaired := dict.fromkeys(each for part in prepared for each in part.repaired):
        yield Finding(
            code="speech-repaired-phonemes",
            severity="info",
            message=f"Look-alikes among the phonemes were put right: {', '.join(repaired)}.",
        )
    if suspect := dict.fromkeys(symbol for part in prepared for symbol in part.suspect):
        yield Finding(
            code="speech-suspect-phonemes",
            severity="warning",
            message=f"Capitals or figures among the phonemes are rarely meant: {' '.join(suspect)}",
        )
    if language_speed != 1.0:
        yield Finding(
            code="speech-language-speed",
            severity="info",
            message=f"Language {language!r} is spoken at {language_speed:g} of the model's pace.",
        )


def sound_findings(
    passes: Sequence[Utterance], samples: Mono, *, speed: float
) -> Iterator[Finding]:
    """Yield what is odd about the sound.

    Parameters
    ----------
    passes : sequence of Utterance
    samples : float32, shape (n,)
        Of the unit, limited.
    speed : float
        That of the request times that of the language.
    """
    if len(passes) > 1:
        yield Finding(
            code="speech-split",
            severity="info",
            message=f"Too long for one pass; spoken in {len(passes)}.",
        )
    tokens = sum(each.tokens for each in passes)
    if tokens < _SHORT_TOKENS:
        yield Finding(
            code="speech-short-unit",
            severity="info",
            message=f"{tokens} tokens are few for this model, which may slur or hiss.",
        )
    pace = sum(each.seconds for each in passes) * speed / tokens
    if not _PACE_S[0] <= pace <= _PACE_S[1]:
        yield Finding(
            code="speech-pace",
            severity="warning",
            message=f"{pace:.3f} s a token is outside {_PACE_S[0]:.2f} to {_PACE_S[1]:.2f}; a word "
            "may be swallowed: try pace_blend 0.3.",
        )
    if (peak := max(float(np.abs(each.samples).max()) for each in passes)) > 1.0:
        yield Finding(
            code="speech-limited",
            severity="info",
            message=f"The vocoder's peak of {peak:.2f} of full scale was bent back.",
        )
    level = 10.0 * math.log10(float(np.mean(np.square(samples, dtype=np.float64))) + 1e-20)
    if level < _LEAST_DBFS:
        yield Finding(
            code="speech-quiet",
            severity="error",
            message=f"The unit has a level of {level:.0f} dBFS: the voice said nothing.",
        )
