"""The single rules of the token detectors: what silence and repetition in a row give away.

A row is every id that one generation gave, the stop id taken off, marks above the codebook still
in. Each rule is a pure function of the row; `detectors` asks them in order. loudr-1 specification,
sections 11.4 to 11.9.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from statistics import median

from loudr_core.speech.loudr1.algorithm import Detectors

__all__ = [
    "EARLIEST_CUT",
    "desperation_cut",
    "earliest_cut",
    "ended_tail_cut",
    "is_dropout",
    "is_echo",
    "is_filler",
    "is_overlong",
    "is_stalled",
    "loop_cut",
    "pacing_outliers",
]

EARLIEST_CUT = 10
"""No rule that follows the end-of-speech peak cuts before this token."""
_LEAST_RATIOS = 3


def earliest_cut(floor: int) -> int:
    """Return the first place at which a rule may follow the end-of-speech peak."""
    return max(floor, EARLIEST_CUT)


def is_dropout(n_tokens: int, n_text: int, detectors: Detectors) -> bool:
    """Return whether a row is too short to be its text: shorter in tokens than the text is."""
    return n_tokens < detectors.dropout_min_tokens and n_tokens < n_text


def is_overlong(n_tokens: int, n_text: int, detectors: Detectors) -> bool:
    """Return whether no reading of a text takes so many tokens."""
    return (
        n_text >= detectors.desperation_min_text_tokens
        and n_tokens >= n_text * detectors.desperation_speech_per_text_token
    )


def loop_cut(
    row: Sequence[int], *, silence: AbstractSet[int], detectors: Detectors
) -> tuple[int, bool] | None:
    """Find a cycle of ids that repeats without end, the earliest one of all periods.

    Parameters
    ----------
    row : sequence of int
    silence : set of int
        The sampler's silence ids.
    detectors : Detectors

    Returns
    -------
    tuple of (int, bool) or None
        How many tokens to keep (up to the end of the first cycle), and whether the row went on with
        at least one period of something else. None without a loop; a pause is none.

    References
    ----------
    loudr-1 specification, section 11.4.
    """
    n = len(row)
    if n < detectors.repetition_min_span:
        return None
    quiet = silence
    if detectors.repetition_silence == "acoustic":
        quiet = {*silence, *detectors.silence_render_ids, *detectors.quiet_render_ids}
    best: tuple[int, bool] | None = None
    cycles = detectors.repetition_min_cycles
    for period in range(1, min(detectors.repetition_max_period, n // cycles) + 1):
        matched = _matches(row, period)
        for start in range(n - cycles * period + 1):
            count = 1 + matched[start] // period
            if count < cycles or count * period < detectors.repetition_min_span:
                continue
            if all(token in quiet for token in row[start : start + period]):
                continue
            end = start + count * period
            if best is None or start + period < best[0]:
                best = start + period, n - end >= period
            break
    return best


def _matches(row: Sequence[int], period: int) -> list[int]:
    """Return for each place how many ids from there on equal the id one period later."""
    matched = [0] * (len(row) + 1)
    for place in range(len(row) - period - 1, -1, -1):
        if row[place] == row[place + period]:
            matched[place] = matched[place + 1] + 1
    return matched


def is_stalled(
    row: Sequence[int], *, hit_ceiling: bool, silence: AbstractSet[int], detectors: Detectors
) -> bool:
    """Return whether the decoder sat in silence where words should be.

    A run of dead air that the row does not end with, or, where the bundle names the ids that
    render as silence, a row of nothing else, or one that is mostly so and ran into its ceiling.

    References
    ----------
    loudr-1 specification, section 11.5.
    """
    census = frozenset(detectors.silence_render_ids)
    gate = census or silence
    family = {*gate, *detectors.quiet_render_ids}
    inside = [token in family for token in row]
    if census and (all(inside) or (hit_ceiling and 2 * sum(inside) > len(row))):
        return True
    run = 0
    for token, belongs in zip(row, inside, strict=True):
        if belongs:
            run += token in gate
        elif run >= detectors.stall_run_tokens:
            return True
        else:
            run = 0
    return False


def is_filler(
    row: Sequence[int], start: int, *, silence: AbstractSet[int], detectors: Detectors
) -> bool:
    """Return whether what stands from `start` on is silence with at most a stray word in it.

    References
    ----------
    loudr-1 specification, section 11.6.
    """
    if not 0 <= start < len(row):
        return False
    flags = [token in silence for token in row[start:]]
    if sum(flags) / len(flags) >= detectors.trailing_filler_threshold:
        return True
    least = detectors.trailing_silence_run_tokens
    # A longer run still ends after `least` here: the rest of it counts as speech. A run is noted
    # when it reaches `least`, which 0 is never reached by.
    runs = [(low, low + least) for low, high in _runs(flags) if high - low >= least > 0]
    if not runs:
        return False
    gaps = [runs[0][0], len(flags) - runs[-1][1]]
    gaps += [after[0] - before[1] for before, after in pairwise(runs)]
    return max(gaps) <= detectors.filler_max_speech_after_run


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each unbroken run of true flags."""
    start = 0
    for place, flag in enumerate(flags):
        if not flag:
            if start < place:
                yield start, place
            start = place + 1
    if start < len(flags):
        yield start, len(flags)


def is_echo(
    n_tokens: int,
    *,
    floor: int,
    eos_peak_at: int,
    eos_peak_probability: float,
    hit_ceiling: bool,
    detectors: Detectors,
) -> bool:
    """Return whether a last chunk said something more after the end it nearly took.

    References
    ----------
    loudr-1 specification, section 11.3, rule 5.
    """
    if not earliest_cut(floor) < eos_peak_at < n_tokens:
        return False
    tail, place = n_tokens - eos_peak_at, eos_peak_at * 100
    strong = (
        eos_peak_probability >= detectors.echo_strong_eos_probability
        and tail <= detectors.echo_strong_max_tail
        and place >= n_tokens * detectors.echo_strong_min_position_pct
    )
    weak = (
        hit_ceiling
        and eos_peak_probability >= detectors.echo_weak_eos_probability
        and tail <= detectors.echo_weak_max_tail
        and place >= n_tokens * detectors.echo_weak_min_position_pct
    )
    return strong or weak


def desperation_cut(
    row: Sequence[int],
    *,
    n_text: int,
    floor: int,
    eos_peak_at: int,
    terminal: bool,
    silence: AbstractSet[int],
    detectors: Detectors,
) -> int | None:
    """Return where to cut a row that is impossibly long for its text, or None.

    At the first long silence; else, in the last chunk of a passage, at the end-of-speech peak if
    that lies where the text may end.

    References
    ----------
    loudr-1 specification, section 11.7.
    """
    if not is_overlong(len(row), n_text, detectors):
        return None
    earliest = earliest_cut(floor)
    flags = [token in silence for token in row]
    for low, high in _runs(flags):
        if high - low >= detectors.trailing_silence_run_tokens and low >= earliest:
            return low
    band = int(detectors.desperation_band_ratio * n_text) + detectors.desperation_band_floor
    if terminal and earliest <= eos_peak_at <= band and eos_peak_at < len(row):
        return eos_peak_at
    return None


def ended_tail_cut(
    row: Sequence[int], *, terminal: bool, silence: AbstractSet[int], detectors: Detectors
) -> int | None:
    """Return where to cut the silence, and a blip in it, from the end of a row that ended.

    References
    ----------
    loudr-1 specification, section 11.8.
    """
    flags = [token in silence for token in row]
    last = _last(flags, len(row) - 1, False)
    if last < 0:
        return None
    trailing = len(row) - 1 - last
    if trailing >= detectors.trailing_silence_run_tokens:
        return _keep_some(last, trailing, len(row), detectors)
    before = _last(flags, last, True)
    burst = last - before
    speech = _last(flags, before, False)
    run = before - speech
    blip = burst <= detectors.ended_tail_blip_max and run >= detectors.ended_tail_silence_run
    word = (
        terminal
        and burst <= detectors.ended_tail_word_max
        and run >= detectors.trailing_silence_run_tokens
    )
    if speech >= 0 and (blip or word):
        return _keep_some(speech, run, len(row), detectors)
    return None


def _last(flags: Sequence[bool], place: int, wanted: bool) -> int:
    """Return the last place at or before `place` with that flag, or -1."""
    while place >= 0 and flags[place] is not wanted:
        place -= 1
    return place


def _keep_some(last_speech: int, run: int, n_tokens: int, detectors: Detectors) -> int | None:
    cut = last_speech + 1 + min(run, detectors.ended_tail_keep)
    return cut if cut < n_tokens else None


def pacing_outliers(ratios: Sequence[float], detectors: Detectors) -> list[int]:
    """Return which chunks of a passage are spoken much faster or slower than its median.

    Parameters
    ----------
    ratios : sequence of float
        Speech tokens over text tokens, one a chunk.
    detectors : Detectors

    Returns
    -------
    list of int
        Indices, ascending; none for fewer than three chunks. For reports only: the engine retries
        nothing because of it.

    References
    ----------
    loudr-1 specification, section 11.9.
    """
    if len(ratios) < _LEAST_RATIOS:
        return []
    middle = median(ratios)
    if middle <= 0:
        return []
    high, low = middle * detectors.pacing_tolerance, middle / detectors.pacing_tolerance
    return [index for index, ratio in enumerate(ratios) if ratio > high or ratio < low]
