"""What is wrong with a row of speech tokens: where to cut it, or whether to generate it again.

The rules of `token_rules` in their order, the first that matches deciding (loudr-1 specification,
section 11.3). A verdict that is suspect condemns the row: the engine tries another seed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from loudr_core.findings import Finding
from loudr_core.speech.loudr1.algorithm import Detectors
from loudr_core.speech.loudr1.token_rules import (
    desperation_cut,
    earliest_cut,
    ended_tail_cut,
    is_dropout,
    is_echo,
    is_filler,
    is_overlong,
    is_stalled,
    loop_cut,
)

__all__ = ["CODES", "Verdict", "dead_air", "finding_for", "inspect"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the detectors say of one row.

    Parameters
    ----------
    keep : int
        Tokens to keep, from the start; all of them unless a rule cuts.
    reason : str
        `clean`, `dropout`, `repetition`, `stall`, `silence_tail`, `terminal_echo`, `desperation`
        or `ended_tail`.
    suspect : bool
        The row is not to be trusted, cut or not.
    """

    keep: int
    reason: str
    suspect: bool

    @property
    def condemned(self) -> bool:
        """Whether the row should be generated again with another seed."""
        return self.suspect or self.reason == "dropout"


def inspect(
    tokens: Sequence[int],
    *,
    n_text: int,
    floor: int,
    eos_peak_at: int,
    eos_peak_probability: float,
    ended: bool,
    terminal: bool,
    hit_ceiling: bool,
    silence: frozenset[int],
    detectors: Detectors,
) -> Verdict:
    """Judge a row.

    Parameters
    ----------
    tokens : sequence of int, length n
        Every id generated, the stop id taken off; marks above the codebook stay in.
    n_text : int
        Text tokens, the language tag among them.
    floor : int
        Tokens before which the stop id was masked.
    eos_peak_at : int
        Step at which the stop id was likeliest, -1 if none was observed.
    eos_peak_probability : float
        How likely it was there.
    ended : bool
        The stop id was drawn.
    terminal : bool
        The row is the last one of its passage.
    hit_ceiling : bool
        The row stopped at its length cap.
    silence : frozenset of int
        The sampler's silence ids.
    detectors : Detectors

    Returns
    -------
    Verdict
        `keep` <= n. With mode `off`, or for an empty row, all is kept and clean. Mode `report`
        judges as `trim` does; that nothing is cut then is the caller's part.

    References
    ----------
    loudr-1 specification, section 11.3.
    """
    row = list(tokens)
    n = len(row)
    if detectors.mode == "off" or n == 0:
        return Verdict(n, "clean", False)
    if is_dropout(n, n_text, detectors):
        return Verdict(n, "dropout", True)
    loop = loop_cut(row, silence=silence, detectors=detectors)
    if loop is not None:
        cut, resumed = loop
        if resumed and detectors.repetition_resume == "condemn":
            return Verdict(n, "repetition", True)
        return Verdict(cut, "repetition", False)
    if is_stalled(row, hit_ceiling=hit_ceiling, silence=silence, detectors=detectors):
        return Verdict(n, "stall", True)
    peak = (eos_peak_at, eos_peak_probability)
    if terminal:
        followed = _peak_rule(row, floor, peak, ended, hit_ceiling, silence, detectors)
        if followed:
            return Verdict(eos_peak_at, followed, False)
    desperate = desperation_cut(
        row,
        n_text=n_text,
        floor=floor,
        eos_peak_at=eos_peak_at,
        terminal=terminal,
        silence=silence,
        detectors=detectors,
    )
    if desperate is not None:
        least = n_text * detectors.desperation_min_keep_per_text_token
        return Verdict(desperate, "desperation", hit_ceiling and desperate < least)
    if ended:
        tail = ended_tail_cut(row, terminal=terminal, silence=silence, detectors=detectors)
        if tail is not None:
            return Verdict(tail, "ended_tail", False)
    return Verdict(n, "clean", is_overlong(n, n_text, detectors))


def _peak_rule(
    row: Sequence[int],
    floor: int,
    peak: tuple[int, float],
    ended: bool,
    hit_ceiling: bool,
    silence: AbstractSet[int],
    detectors: Detectors,
) -> str:
    """Return which rule cuts a last row at its end-of-speech peak, or nothing."""
    at, probability = peak
    if (
        not ended
        and probability > detectors.filler_min_eos_probability
        and earliest_cut(floor) < at < len(row)
        and is_filler(row, at, silence=silence, detectors=detectors)
    ):
        return "silence_tail"
    echo = is_echo(
        len(row),
        floor=floor,
        eos_peak_at=at,
        eos_peak_probability=probability,
        hit_ceiling=hit_ceiling,
        detectors=detectors,
    )
    return "terminal_echo" if echo else ""


def dead_air(tokens: Sequence[int], *, silence: AbstractSet[int], detectors: Detectors) -> int:
    """Return how many ids of a row are silence: the least of it wins among condemned rows.

    Counted are the ids that render as silence, or the sampler's where the bundle names none
    (loudr-1 specification, section 12.1).
    """
    counted = frozenset(detectors.silence_render_ids) or silence
    return sum(token in counted for token in tokens)


_CONDEMNING = {
    "dropout": ("speech-dropout", "{n} speech tokens are too few for {text} text tokens"),
    "repetition": ("speech-repetition", "the voice repeats itself and then goes on"),
    "stall": ("speech-stall", "the voice falls silent in the middle"),
    "desperation": ("speech-starved", "{keep} of {n} speech tokens are left of {text} text tokens"),
    "clean": ("speech-overlong", "{n} speech tokens are too many for {text} text tokens"),
}
_TRIMMING = {
    "repetition": ("speech-repetition", "the voice repeats itself to the end"),
    "silence_tail": ("speech-silence-tail", "silence and a stray word follow the end"),
    "terminal_echo": ("speech-terminal-echo", "something more follows the end"),
    "desperation": ("speech-desperation", "the row is too long for its text"),
    "ended_tail": ("speech-ended-tail", "silence stands before the stop"),
}

CODES = tuple(sorted({code for code, _ in (*_CONDEMNING.values(), *_TRIMMING.values())}))
"""Every code that `finding_for` may give."""


def finding_for(
    verdict: Verdict,
    *,
    n_tokens: int,
    n_text: int,
    trimmed: bool = True,
    where: Mapping[str, str | int | float] | None = None,
) -> Finding | None:
    """Say a verdict as a finding.

    Parameters
    ----------
    verdict : Verdict
    n_tokens, n_text : int
        Length of the row before it is cut, and of its text.
    trimmed : bool
        Whether the row was cut as the verdict says (mode `trim`).
    where : mapping, optional
        The place in the passage, such as `window`.

    Returns
    -------
    Finding or None
        Severity `error` for a condemned row, `info` for one that was merely cut; None for a clean
        one.
    """
    table = _CONDEMNING if verdict.condemned else _TRIMMING
    if verdict.reason not in table:
        return None
    code, text = table[verdict.reason]
    message = text.format(n=n_tokens, text=n_text, keep=verdict.keep)
    cut = n_tokens - verdict.keep
    if cut and not verdict.condemned:
        message += f": {cut} of {n_tokens} tokens {'cut' if trimmed else 'would be cut'}"
    return Finding(
        code=code,
        severity="error" if verdict.condemned else "info",
        message=f"{message[0].upper()}{message[1:]}.",
        where={**(where or {}), "tokens": n_tokens, "kept": verdict.keep if trimmed else n_tokens},
    )
