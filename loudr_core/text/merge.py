"""Which short neighbouring blocks share a segment, decided locally.

Packing greedily from the start of a chapter would shift every later segment when one line is
edited. So each gap between two short blocks gets a rank, a hash of the two blocks beside it, and a
gap whose rank is not exceeded by either neighbouring gap is a boundary. Between two boundaries the
ranks run down and then up; that valley is one group. An edit changes the ranks of the two gaps
beside it and hence, at most, boundaries one gap further. A valley too long for a segment is parted
at its lowest gap; a half still too long, a chain of four or more lines near the limit of shortness
whose hashes happen to be in order, is filled from its start.
"""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["SHORT_SHARE", "group_short"]

SHORT_SHARE = 3
"""A block is short when it is at most this part of the target, spoken: three always fit."""
_JOINT = 2
"""Characters that joining two blocks may add."""


def group_short(texts: Sequence[str], lengths: Sequence[int], target: int) -> list[tuple[int, int]]:
    """Group a run of neighbouring short blocks of one kind, role and language.

    Parameters
    ----------
    texts : sequence of str
        What the blocks say; ranks are made of it.
    lengths : sequence of int
        Spoken lengths, each at most target // SHORT_SHARE.
    target : int
        Greatest spoken length of a group.

    Returns
    -------
    list of (start, end)
        Half-open index ranges that cover the run. Editing one block leaves all groups alone but its
        own and at most two on either side.
    """
    ranks = [_rank(left, right) for left, right in pairwise(texts)]
    groups: list[tuple[int, int]] = []
    start = 0
    for gap in range(len(texts)):
        if _is_boundary(ranks, gap):
            groups += _fit(ranks, lengths, start, gap + 1, target)
            start = gap + 1
    return groups


def _rank(left: str, right: str) -> int:
    joined = f"{len(left)}:{left}{right}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little")


def _is_boundary(ranks: Sequence[int], gap: int) -> bool:
    """Whether a gap is a local maximum; the gap behind the last block always is."""
    if gap >= len(ranks):
        return True
    if gap == 0 or gap + 1 == len(ranks):
        return False  # the run's end is the boundary; a last block is not left alone beside it
    return ranks[gap] >= ranks[gap - 1] and ranks[gap] >= ranks[gap + 1]


def _fit(
    ranks: Sequence[int], lengths: Sequence[int], start: int, end: int, target: int
) -> list[tuple[int, int]]:
    if _total(lengths, start, end) <= target:
        return [(start, end)]
    lowest = min(range(start, end - 1), key=lambda gap: ranks[gap])
    return [
        group
        for half in ((start, lowest + 1), (lowest + 1, end))
        for group in _fill(lengths, *half, target)
    ]


def _fill(lengths: Sequence[int], start: int, end: int, target: int) -> list[tuple[int, int]]:
    groups = [(start, start + 1)]
    for index in range(start + 1, end):
        first = groups[-1][0]
        if _total(lengths, first, index + 1) <= target:
            groups[-1] = (first, index + 1)
        else:
            groups.append((index, index + 1))
    return groups


def _total(lengths: Sequence[int], start: int, end: int) -> int:
    return sum(lengths[start:end]) + _JOINT * (end - start - 1)
