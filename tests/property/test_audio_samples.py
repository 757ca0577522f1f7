"""Takes come back exactly, trimming is stable, and the limiter holds whatever comes."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from loudr_core.audio.master import Gain, Master
from loudr_core.audio.takefile import decode_take, encode_take, from_pcm24, to_pcm24
from loudr_core.audio.trim import trim_edges
from loudr_core.audio.true_peak import true_peak

floats = st.floats(-2, 2, width=32)
takes = arrays(np.float32, st.integers(1, 400), elements=floats)
names = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7D, exclude_characters="="),
                min_size=1, max_size=10).map(str.lower)  # fmt: skip
tags = st.dictionaries(names, st.text(st.characters(exclude_categories=["Cs"]), max_size=50))


@given(samples=takes, tags=tags, rate=st.sampled_from([8000, 22050, 24000, 48000]))
@settings(max_examples=60, deadline=None)
def test_a_take_round_trips(samples: np.ndarray, tags: dict[str, str], rate: int) -> None:
    back = decode_take(encode_take(samples, rate, tags))
    assert np.array_equal(back.pcm, to_pcm24(samples))
    assert np.array_equal(to_pcm24(from_pcm24(back.pcm)), back.pcm)
    assert back.tags == tags


@given(samples=arrays(np.float32, st.integers(0, 4000), elements=floats))
@settings(max_examples=40, deadline=None)
def test_trimming_only_shortens(samples: np.ndarray) -> None:
    kept = trim_edges(samples, 8000)
    assert kept.dtype == np.float32
    assert len(kept) <= len(samples)
    assert np.array_equal(kept, trim_edges(samples, 8000))


@given(
    seed=st.integers(0, 2**32 - 1),
    gain_db=st.floats(0, 24),
    cuts=st.lists(st.integers(0, 6000), max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_the_limiter_holds_however_the_book_is_cut(
    seed: int, gain_db: float, cuts: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    samples = (rng.standard_normal(6000) * rng.random(6000) ** 6 * 0.5).astype(np.float32)
    master = Master(Gain(gain_db=gain_db, limit_dbtp=-3.0, limited=True), 24000)
    whole = np.concatenate(list(master.stream([samples])))
    cut = np.concatenate(list(master.stream(np.split(samples, sorted(cuts)))))
    assert np.array_equal(whole, cut)
    assert len(whole) == len(samples)
    assert 20 * math.log10(true_peak(whole) or 1e-9) <= -3.0
