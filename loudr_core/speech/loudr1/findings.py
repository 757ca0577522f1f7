"""What the engine says of a passage besides its samples: codes, severities, sentences."""

from collections.abc import Sequence

from loudr_core.errors import SynthesisError
from loudr_core.findings import Finding
from loudr_core.speech.loudr1.detectors import finding_for
from loudr_core.speech.loudr1.passage import Passage
from loudr_core.speech.loudr1.window import WindowTokens
from loudr_core.speech.protocol import SpeechRequest

__all__ = ["passage_findings", "reading_findings"]

_MOST_UNREAD = 0.2
"""Share of a text's letters; beyond it hardly a word would be right."""


def reading_findings(request: SpeechRequest, *, unread: Sequence[str]) -> list[Finding]:
    """Return what is not read as it was asked for.

    Parameters
    ----------
    request : SpeechRequest
    unread : sequence of str
        Characters that the tokenizer has no token for, small and without their accents.

    Raises
    ------
    SynthesisError
        Most words would be left out.
    """
    findings = []
    if unread:
        letters = [symbol for symbol in request.text.lower() if symbol.isalpha()]
        missing = sum(symbol in unread for symbol in letters)
        if missing > _MOST_UNREAD * len(letters):
            raise SynthesisError(
                f"{missing} of {len(letters)} letters are none that the voice can read, such as "
                f"{unread[-1]!r}"
            )
        findings.append(
            _warning(
                "speech-unread-symbol",
                f"The voice cannot read {' '.join(unread)} and guesses or leaves it out.",
            )
        )
    if request.phonemes is not None:
        findings.append(
            _warning(
                "speech-phonemes-unused",
                "The voice takes no phonemes; it read the text in its own way.",
            )
        )
    return findings


def passage_findings(passage: Passage, *, trimmed: bool) -> list[Finding]:
    """Return what the engine's own detectors say of a passage, window by window.

    Parameters
    ----------
    passage : Passage
    trimmed : bool
        Whether rows were cut as the verdicts say.
    """
    findings = []
    for number, window in enumerate(passage.windows):
        where: dict[str, str | int | float] = {"window": number}
        finding = finding_for(
            window.verdict,
            n_tokens=window.n_generated,
            n_text=window.n_text,
            trimmed=trimmed,
            where=where,
        )
        if finding is not None:
            findings.append(finding)
        elif window.hit_cap:
            findings.append(_unfinished(window, where))
        if window.attempts > 1 and not window.verdict.condemned:
            findings.append(
                Finding(
                    code="speech-retried",
                    severity="info",
                    message=f"Attempt {window.attempts} was the first good one.",
                    where=where,
                )
            )
    return findings


def _unfinished(window: WindowTokens, where: dict[str, str | int | float]) -> Finding:
    """Say that a row was stopped by its limit and no detector found where the speech ends."""
    return Finding(
        code="speech-unfinished",
        severity="error",
        message=(
            f"The voice had not stopped after {window.n_generated} speech tokens for "
            f"{window.n_text} text tokens; the end may be missing."
        ),
        where=where,
    )


def _warning(code: str, message: str) -> Finding:
    return Finding(code=code, severity="warning", message=message)
