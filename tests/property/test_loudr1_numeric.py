"""What holds of draws, carried tokens and sound for any input, reference engine or not."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.speech.loudr1.algorithm import Algorithm, Sampling
from loudr_core.speech.loudr1.carry import carry
from loudr_core.speech.loudr1.noise import gaussian_field
from loudr_core.speech.loudr1.philox import uniforms, uniforms_at
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.stretch import stretched_length, time_stretch
from loudr_core.speech.loudr1.timeline import ChunkSpan, timeline

SEEDS = st.integers(-(2**70), 2**70)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 2**33), st.integers(0, 2**33), st.integers(1, 300), st.data())
def test_a_number_depends_on_its_address_alone(
    seed: int, stream: int, row: int, width: int, data: st.DataObject
) -> None:
    columns = data.draw(st.lists(st.integers(0, width - 1), max_size=20))
    whole = uniforms(seed, stream, row, 1, width)[0]
    assert ((whole > 0) & (whole < 1)).all()
    np.testing.assert_array_equal(uniforms_at(seed, stream, row, columns), whole[columns])
    above = uniforms(seed, stream, row - 1, 2, width)[1]
    np.testing.assert_array_equal(above, whole)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(0, 9), st.integers(1, 60), st.integers(1, 60))
def test_a_narrow_field_is_part_of_a_wide_one(seed: int, stream: int, one: int, two: int) -> None:
    narrow, wide = (gaussian_field(seed, stream, 2, n) for n in sorted((one, two)))
    assert narrow.tobytes() == wide[:, : narrow.shape[1]].tobytes()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=40),
    SEEDS,
    st.floats(0.01, 0.9),
    st.integers(0, 400),
    st.data(),
)
def test_only_kept_tokens_are_drawn(
    values: list[float], seed: int, min_p: float, step: int, data: st.DataObject
) -> None:
    ids = st.integers(0, len(values) - 1)
    stop, silence = data.draw(ids), data.draw(st.lists(ids, max_size=3))
    logits = np.array(values, np.float32)
    sampler = Sampler(
        Sampling(min_p=min_p, repetition_penalty=1.0, silence_token_ids=tuple(silence)),
        seed=seed,
        stop_token=stop,
        eos_floor=0,
    )
    token = sampler.draw(logits, step=step, seen=np.zeros(len(values), bool))
    share = np.exp((logits[token] - logits.max()).astype(np.float64) / 0.8)
    assert token in silence or share >= min_p * (1 - 1e-6)
    at, probability = sampler.eos_peak
    assert (at == step) == (probability > 0)
    assert 0 <= probability <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 6560), max_size=30), st.integers(0, 40), st.booleans())
def test_carried_tokens_end_the_row(tokens: list[int], wanted: int, pairs: bool) -> None:
    carried = carry(Algorithm(decode_mode="fusion_mtp2" if pairs else "single"), tokens, wanted)
    whole = tokens[: len(tokens) - len(tokens) % 2] if pairs else tokens
    assert carried == whole[len(whole) - len(carried) :]
    assert len(carried) >= min(wanted, len(whole))
    assert len(carried) <= wanted + pairs
    assert not pairs or len(carried) % 2 == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 4000), st.floats(0.5, 2.0), st.integers(0, 2**32 - 1))
def test_a_stretch_has_its_length_and_never_gets_louder(n: int, speed: float, draws: int) -> None:
    audio = np.random.default_rng(draws).uniform(-1, 1, n).astype(np.float32)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
    assert len(found) == stretched_length(n, speed)
    assert np.isfinite(found).all()
    assert n == 0 or np.abs(found).max(initial=0) <= np.abs(audio).max() * (1 + 1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=20), st.integers(0, 10**6)), max_size=8))
def test_times_meet_and_stay_in_order(spans: list[tuple[str, int]]) -> None:
    chunks = timeline([ChunkSpan(text, n, 1) for text, n in spans], sample_rate_hz=24_000)
    edges = [0.0] + [chunk.end for chunk in chunks]
    assert [chunk.start for chunk in chunks] == edges[:-1]
    assert edges[-1] == sum(n for _, n in spans) / 24_000
    for chunk in chunks:
        assert [word.word for word in chunk.words] == chunk.text.split()
        times = [time for word in chunk.words for time in (word.start, word.end)]
        assert times == sorted(times)
        assert all(chunk.start <= time <= chunk.end + 1e-9 for time in times)
