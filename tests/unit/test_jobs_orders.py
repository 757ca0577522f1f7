"""Orders name what a worker makes; shards are the orders again, in book order, none twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.jobs.orders import cut_shards
from loudr_core.speech.orders import Order


def orders_of(lengths: list[float]) -> list[Order]:
    return [
        Order(
            id=f"c001-s{number:05d}",
            job_key=str(number),
            choice_key=f"choice/{number}",
            text="A word.",
            language="en",
            voice="low",
            attempts=(),
            est_audio_s=seconds,
        )
        for number, seconds in enumerate(lengths, 1)
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0, 400, width=32), max_size=300),
    st.integers(1, 64),
    st.sampled_from([0, 1, 20]),
)
def test_every_order_is_in_one_shard_in_order(
    lengths: list[float], workers: int, canary: int
) -> None:
    orders = orders_of(lengths)
    shards = cut_shards(orders, workers=workers, canary=canary)
    assert [order for shard in shards for order in shard.orders] == orders
    assert all(shard.orders for shard in shards)
    assert [shard.number for shard in shards] == sorted({shard.number for shard in shards})


@pytest.mark.parametrize("workers", [1, 2, 16, 256])
@pytest.mark.parametrize("hours", [0.1, 1, 12, 500])
def test_a_flow_has_few_task_runs_whatever_the_book(hours: float, workers: int) -> None:
    orders = orders_of([12.0] * round(hours * 300))
    shards = cut_shards(orders, workers=workers, canary=20)
    assert len(shards) <= 152  # the canary's, 150 full ones, and the rest


def test_the_first_shard_is_the_canary() -> None:
    shards = cut_shards(orders_of([12.0] * 500), workers=2, canary=20)
    assert len(shards[0].orders) == 20
    assert len(shards) > 2
    assert shards[0].label == "c001-s00001..c001-s00020"


def test_a_short_book_is_one_shard_beside_the_canary() -> None:
    assert len(cut_shards(orders_of([3.0] * 12), workers=8, canary=20)) == 1
    assert len(cut_shards(orders_of([3.0] * 30), workers=8, canary=20)) == 2


def test_nothing_to_speak_is_no_shard() -> None:
    assert cut_shards([], workers=2, canary=20) == []
