"""Generated cases that are counted: a run that repeats itself fails."""

import hashlib
import math
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

__all__ = ["distinct_cases"]

_TIMES = int(os.environ.get("LOUDR_CASES_TIMES", "1"))
"""For a longer run by hand: so many times the cases."""


def _digest(inputs: tuple[Any, ...]) -> bytes:
    """Return the hash of inputs: of the bytes of arrays, of the `repr` of all else."""
    found = hashlib.sha256()
    for each in inputs:
        if isinstance(each, np.ndarray):
            found.update(repr((each.dtype.str, each.shape)).encode() + each.tobytes())
        else:
            found.update(repr(each).encode())
        found.update(b"\0")
    return found.digest()


def distinct_cases(
    least: int, *, per_example: int = 20, kinds: Mapping[str, int] | None = None
) -> Callable[[Callable[[Random], tuple[Any, ...]]], Callable[[], None]]:
    """Make a test of a function that draws one case, compares it, and returns it.

    Hypothesis draws one number per example, and each case has a generator of its own, seeded by
    that number and its place in the example. (Lists that Hypothesis draws itself repeat their
    elements: of 2,000 drawn in lists of twenty, 440 may be distinct.)

    Parameters
    ----------
    least
        How many distinct cases a run must have seen; a tenth more are drawn.
    per_example
        How many cases an example compares.
    kinds
        How many of them, at least, must be of a kind. The function returns the kind, then the
        inputs; cases are told apart by the inputs alone.
    """
    examples = math.ceil(least * _TIMES * 1.1 / per_example)

    def decorate(compare: Callable[[Random], tuple[Any, ...]]) -> Callable[[], None]:
        def test() -> None:
            seen: defaultdict[str, set[bytes]] = defaultdict(set)

            def run(seed: int) -> None:
                for place in range(per_example):
                    note(f"case {place} of {per_example}")
                    kind, *inputs = compare(Random(seed * per_example + place))
                    seen[kind].add(_digest(tuple(inputs)))

            run.__name__ = run.__qualname__ = compare.__name__  # the key of the failures it keeps
            settings(max_examples=examples, deadline=None)(given(st.integers(0, 2**62 - 1))(run))()
            counts = {kind: len(cases) for kind, cases in sorted(seen.items())}
            assert len(set().union(*seen.values())) >= least, counts
            for kind, wanted in (kinds or {}).items():
                assert counts.get(kind, 0) >= wanted, counts

        test.__name__, test.__qualname__ = compare.__name__, compare.__qualname__
        test.__module__, test.__doc__ = compare.__module__, compare.__doc__
        return test

    return decorate
