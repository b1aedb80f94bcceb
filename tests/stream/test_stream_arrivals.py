"""One wrong time does not decide what is late: jumps are held, confirmed, dropped or taken back."""

import json
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps.stream.arrivals import Arrivals
from caps.stream.config import ArrivalConfig

STEP = 60 * 10**9
START = 1_700_000_000 * 10**9
FUTURE = 4_000_000_000 * 10**9


def at(*steps: float) -> list[int]:
    return [START + round(step * STEP) for step in steps]


def run(arrivals: Arrivals, times: Iterable[int], *, end: bool = True) -> list[int]:
    """Times handed on, row by row."""
    handed = []
    for time in times:
        arrivals.add(np.array([1.0]), time)
        handed += arrivals.ready()
    handed += arrivals.ready(everything=True) if end else []
    assert [each.position for each in handed] == sorted({each.position for each in handed})
    return [each.time for each in handed]


@pytest.mark.parametrize("lateness", [0, 1, 3])
@pytest.mark.parametrize("steps", [ArrivalConfig().leap + 1, 60, 1440, 9_999, 30_000_000])
@pytest.mark.parametrize("index", [1, 2, 20, 38])
def test_one_row_ahead_is_dropped_and_costs_no_other(steps: int, index: int, lateness: int) -> None:
    arrivals, rows = Arrivals(STEP, lateness), at(*range(40))
    ahead = rows[index - 1] + steps * STEP
    assert run(arrivals, [*rows[:index], ahead, *rows[index:]]) == rows
    assert (arrivals.counts.ahead, arrivals.counts.late) == (1, 0)


@pytest.mark.parametrize("typical_step", [STEP, None])
def test_rows_without_a_grid_are_not_silenced_either(typical_step: int | None) -> None:
    arrivals, rows = Arrivals(None, 0, typical_step), at(0, 1.2, 1.9, 3.4, 4.1, 5.5, 6.0, 7.7, 8.2)
    assert run(arrivals, [*rows[:4], FUTURE, *rows[4:]]) == rows
    assert arrivals.counts.ahead == 1


@pytest.mark.parametrize("lateness", [0, 1, 4])
@pytest.mark.parametrize("index", [0, 1, 10])
def test_a_false_jump_that_was_believed_is_taken_back(index: int, lateness: int) -> None:
    """Two wrong rows confirm each other, or the very first row is wrong."""
    arrivals, rows = Arrivals(STEP, lateness), at(*range(30))
    wrong = [FUTURE, FUTURE + STEP][: 1 if index == 0 else 2]
    handed = run(arrivals, [*rows[:index], *wrong, *rows[index:]])
    assert [time for time in handed if time < FUTURE] == rows
    counts = arrivals.counts
    assert (counts.late, counts.returned, counts.out_of_order) == (0, 1, 0)
    assert counts.rows + counts.ahead == len(rows) + len(wrong)


def test_a_clock_that_stands_still_in_the_future_confirms_nothing() -> None:
    arrivals, rows = Arrivals(STEP), at(*range(10))
    assert run(arrivals, [*rows[:5], *[FUTURE] * 3, *rows[5:]]) == rows
    assert (arrivals.counts.ahead, arrivals.counts.duplicate) == (1, 2)


def test_a_true_gap_is_confirmed_by_the_next_row_and_loses_none() -> None:
    arrivals, rows = Arrivals(STEP), at(0, 1, 500, 501, 30_000, 30_001, 30_040)
    assert run(arrivals, rows[:3], end=False) == rows[:2]
    assert arrivals.held == 1
    assert run(arrivals, rows[3:]) == rows[2:]
    assert (arrivals.counts.ahead, arrivals.counts.gaps) == (0, 3)


def test_a_stream_rarer_than_training_waits_at_its_start_only() -> None:
    arrivals, rows = Arrivals(STEP), at(*range(0, 300, 10))
    assert run(arrivals, rows, end=False) == rows
    rng = np.random.default_rng(0)
    rows = [START + int(time) for time in np.cumsum(rng.exponential(20 * STEP, 400) + STEP)]
    arrivals = Arrivals(STEP)
    assert run(arrivals, rows) == rows


def test_rows_sent_again_do_not_take_back_a_true_jump() -> None:
    rows = at(*range(40), *range(400, 440))
    arrivals = Arrivals(STEP)
    assert run(arrivals, [*rows, *rows], end=False) == rows
    assert arrivals.counts.returned == 0
    assert arrivals.counts.late + arrivals.counts.duplicate == len(rows)


def test_a_few_stragglers_after_a_gap_are_late() -> None:
    rows = at(0, 1, 400, 401, 2, 3, 402, 4, 5, 403)
    arrivals = Arrivals(STEP)
    assert run(arrivals, rows) == at(0, 1, 400, 401, 402, 403)
    assert (arrivals.counts.late, arrivals.counts.returned) == (4, 0)


@pytest.mark.parametrize("lateness", [1, 2, 4])
def test_a_row_as_late_as_allowed_is_taken_and_one_step_later_refused(lateness: int) -> None:
    rows, last = at(*range(10)), 5 + lateness
    for newest, late in ((last, 0), (last + 1, 1)):
        order = [*rows[:5], *at(*range(6, newest + 1)), rows[5]]
        arrivals = Arrivals(STEP, lateness)
        assert run(arrivals, order) == (order[:-1] if late else sorted(order))
        assert (arrivals.counts.late, arrivals.counts.out_of_order) == (late, 1 - late)


TIMES = st.lists(
    st.one_of(st.integers(0, 60), st.integers(0, 60), st.sampled_from([10**4, 10**6, -(10**7)])),
    max_size=60,
)


@given(steps=TIMES, lateness=st.integers(0, 4), cut=st.integers(0, 60))
def test_every_row_is_accounted_for_and_a_state_goes_on(
    steps: list[int], lateness: int, cut: int
) -> None:
    whole, first, rest = (Arrivals(STEP, lateness) for _ in range(3))
    handed = run(whole, at(*steps))
    half = run(first, at(*steps[:cut]), end=False)
    rest.restore(json.loads(json.dumps(first.facts())), first.held_values(1))
    assert half + run(rest, at(*steps[cut:])) == handed
    assert rest.counts == whole.counts
    counts = whole.counts
    assert counts.rows == len(handed)
    assert counts.rows + sum(counts.refused().values()) == len(steps)
    assert min(counts.to_dict().values()) >= 0
