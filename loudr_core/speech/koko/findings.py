"""What the engine says of a unit besides its samples: codes, severities, sentences."""

from loudr_core.findings import Finding
from loudr_core.speech.koko.reading import Reading
from loudr_core.speech.legible import foreign_letters
from loudr_core.speech.protocol import SpeechRequest

__all__ = ["pace_finding", "reading_findings"]


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


def pace_finding(characters: int, seconds: float, band: tuple[float, float]) -> list[Finding]:
    """Return a finding when a unit is quicker or slower than speech is.

    Parameters
    ----------
    characters : int
        That were encoded.
    seconds : float
        Of sound, at speed 1.
    band : tuple of float
        Seconds a character, at the least and at the most.
    """
    pace = seconds / characters
    if band[0] <= pace <= band[1]:
        return []
    return [
        Finding(
            code="speech-pace",
            severity="warning",
            message=f"{pace:.3f} s a character is outside {band[0]:.3f} to {band[1]:.3f}.",
        )
    ]
