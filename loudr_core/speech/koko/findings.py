"""What the engine says of a unit besides its samples: codes, severities, sentences."""

import unicodedata

from loudr_core.findings import Finding
from loudr_core.speech.koko.reading import Reading
from loudr_core.speech.legible import foreign_letters
from loudr_core.speech.protocol import SpeechRequest

__all__ = ["reading_findings", "sound_findings"]


def reading_findings(request: SpeechRequest, reading: Reading) -> list[Finding]:
    """Return what is not read as it was asked for.

    Parameters
    ----------
    request : SpeechRequest
    reading : Reading
        Of its text.
    """
    findings = []
    if reading.replaced:
        pairs = ", ".join(f"{old} → {new or 'nothing'}" for old, new in reading.replaced.items())
        findings.append(
            Finding(
                code="speech-replaced-symbol",
                severity="info",
                message=f"The voice has no character for some, and reads others: {pairs}.",
            )
        )
    if reading.dropped:
        count = sum(reading.dropped.values())
        findings.append(
            Finding(
                code="speech-unread-symbol",
                severity="warning",
                message=f"The voice cannot read {' '.join(reading.dropped)} and leaves it out.",
                where={"characters": count},
            )
        )
    if unspelled := sorted(set(filter(_is_unspelled, reading.text))):
        findings.append(
            Finding(
                code="speech-unspelled",
                severity="warning",
                message=f"The voice was trained on words; {' '.join(unspelled)} should be spelled.",
            )
        )
    foreign, _ = foreign_letters(request.text)
    if foreign:
        findings.append(
            Finding(
                code="speech-foreign-script",
                severity="warning",
                message=f"{foreign} letters are not Latin; the voice was trained on English only.",
            )
        )
    if request.phonemes is not None:
        findings.append(
            Finding(
                code="speech-phonemes-unused",
                severity="warning",
                message="The voice takes no phonemes; it read the text in its own way.",
            )
        )
    return findings


def sound_findings(
    *, passes: int, pace_s: float, band_s: tuple[float, float], peak: float
) -> list[Finding]:
    """Return what is unusual about the sound of a unit.

    Parameters
    ----------
    passes : int
        In which it was spoken.
    pace_s : float
        Seconds a character, at speed 1.
    band_s : tuple of float
        The least and the most that speech takes.
    peak : float
        Largest magnitude as the vocoder made it; what is above 1 gets limited.
    """
    findings = []
    if passes > 1:
        message = f"Too long for one pass; spoken in {passes}."
        findings.append(Finding(code="speech-split", severity="info", message=message))
    if not band_s[0] <= pace_s <= band_s[1]:
        message = f"{pace_s:.3f} s a character is outside {band_s[0]:.3f} to {band_s[1]:.3f}."
        findings.append(Finding(code="speech-pace", severity="warning", message=message))
    if peak > 1.0:
        message = f"The vocoder's peak of {peak:.2f} of full scale was bent back."
        findings.append(Finding(code="speech-limited", severity="info", message=message))
    return findings


def _is_unspelled(symbol: str) -> bool:
    """Say whether a character is a number or a symbol, which a reader says as a word."""
    return unicodedata.category(symbol)[0] in "NS"
