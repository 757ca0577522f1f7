"""Shards whose runs die in every way are finished or given up, and never forgotten."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.render.reconcile import Board, ReconcileRule
from loudr_core.speech.orders import Order

RULE = ReconcileRule(stall_s=5, start_s=9, attempts=4)
FATES = ("works", "crashes", "vanishes", "never starts", "is late", "ends early")


def order(number: int) -> Order:
    return Order(
        id=f"s{number}", job_key=f"k{number}", choice_key=f"choice/{number}", text="x",
        language="en", voice="v", attempts=(), est_audio_s=float(number % 4),
    )  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    fates=st.lists(st.tuples(st.sampled_from(FATES), st.integers(0, 5)), max_size=25),
)
def test_no_segment_is_forgotten(sizes: list[int], fates: list[tuple[str, int]]) -> None:
    board, clock, number = Board(), 0.0, 0
    for size in sizes:
        board.add(order(number + step) for step in range(size))
        number += size
    queue = iter(fates)
    runs: dict[int, tuple[str, int, float]] = {}
    given_up: set[int] = set()
    asked: dict[int, int] = dict.fromkeys(board.shards, 0)
    for _ in range(2000):
        clock += 1.0
        for place, (fate, left, since) in list(runs.items()):
            shard = board.shards[place]
            if fate == "never starts":
                shard.see("starting", clock)
            elif clock - since < 2:
                shard.see("waiting", clock)
            elif fate == "is late" and clock - since < RULE.stall_s:
                shard.see("running", clock)
            elif left and shard.missing:
                shard.see("running", clock)
                assert board.finish(next(iter(shard.missing)))
                shard.hear(clock)
                limited = fate in ("crashes", "vanishes", "ends early")
                runs[place] = (fate, left - 1 if limited else 5, since)
            elif fate == "vanishes":
                shard.see("running", clock)
            else:
                shard.see("ended", clock, fate)
        for place, step in board.steps(clock, RULE).items():
            shard = board.shards[place]
            if step == "give up":
                assert shard.attempt == RULE.attempts
                given_up.add(place)
                shard.missing.clear()
                continue
            asked[place] += 1
            runs[place] = (*next(queue, ("works", 5)), clock)
            shard.submitted(clock)
        if not board.missing:
            break
    assert not board.missing, "every shard came to an end"
    assert all(1 <= times <= RULE.attempts for times in asked.values())
    for place in given_up:
        assert asked[place] == RULE.attempts


@settings(max_examples=100, deadline=None)
@given(
    quiet=st.floats(0, 200),
    answered=st.booleans(),
    longest=st.floats(0, 60),
    stall_s=st.floats(5, 100),
)
def test_silence_is_death_only_after_the_stall_time(
    quiet: float, answered: bool, longest: float, stall_s: float
) -> None:
    rule = ReconcileRule(stall_s=stall_s, start_s=120, attempts=2)
    board = Board()
    shard = board.add([])
    shard.missing["k"] = longest
    shard.submitted(0.0)
    assert shard.next_step(1e9, rule) == "wait", "nobody has taken it"
    shard.see("running", 0.0)
    if answered:
        shard.hear(0.0)
    patience = stall_s if answered else 120
    assert shard.next_step(quiet, rule) == ("replace" if quiet > patience else "wait")
    shard.submitted(0.0)
    shard.see("ended", 0.0)
    assert shard.next_step(0.0, rule) == "give up"
