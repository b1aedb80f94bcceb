"""What is expected beside a subsequence is what lay beside the like of it in training."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from caps.neighbours.config import NeighbourConfig
from caps.neighbours.index import FORMS, Form, SubsequenceIndex, block_errors, expected_beside, paa
from oracles.neighbours import naive_block_error, naive_expected

CONFIG = NeighbourConfig(index_size=60)
LENGTH, HORIZON = 8, 16


def walk(seed: int, rows: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(rows).cumsum() / 3


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMS),
    st.sampled_from(["ahead", "behind"]),
    st.floats(0.0, 0.3),
)
def test_what_is_expected_equals_a_loop_over_rows(
    seed: int, form: Form, side: str, missing: float
) -> None:
    """Gaps and both ends of training, and queries for which nothing or little is left."""
    rng = np.random.default_rng(seed)
    training = walk(seed, 80)
    rows = np.where(rng.random(80) < missing, np.nan, training).astype(np.float32)
    index = SubsequenceIndex.of(training, LENGTH, CONFIG)
    assert index is not None
    queries = paa(walk(seed + 1, 40), np.arange(5) * 6, LENGTH, CONFIG.segments)
    count = len(index.starts)
    low = np.array([0, 0, 0, 20, 5])
    zone = low, np.array([0, count, count - 1, count // 2, 5])  # the second finds nothing
    found, number = index.query(queries, zone), FORMS.index(form)
    steps = np.arange(HORIZON)
    offsets = LENGTH + steps if side == "ahead" else -1 - steps
    edged = np.pad(rows, HORIZON, constant_values=np.nan)
    expected = expected_beside(index, edged, found, offsets)
    assert expected.shape == (HORIZON, len(FORMS), CONFIG.divisions, 5)
    for row, query in enumerate(queries):
        for division, which in enumerate(found.of_divisions[number, :, row].tolist()):
            start = None if which < 0 else int(index.starts[which])
            then = index.subsequences[which]
            naive = [
                naive_expected(rows, start, offset, form, then, query, CONFIG.least_std)
                for offset in offsets.tolist()
            ]
            mine = expected[:, number, division, row]
            np.testing.assert_allclose(mine, naive, rtol=1e-3, atol=1e-3)
    assert np.isnan(expected[..., 1]).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2, 0.6, 1.0]), st.integers(1, 4))
def test_errors_of_blocks_equal_loops_over_rows(seed: int, missing: float, divisions: int) -> None:
    rng = np.random.default_rng(seed)
    observed = rng.standard_normal((HORIZON, 6)).astype(np.float32)
    expected = rng.standard_normal((HORIZON, 2, divisions, 6)).astype(np.float32)
    observed[rng.random(observed.shape) < missing / 2] = np.nan
    expected[rng.random(expected.shape) < missing] = np.nan
    for horizon in (1, 4, 16):
        errors = block_errors(observed[:horizon], expected[:horizon])
        naive = [
            [naive_block_error(here, there[..., query].T, horizon) for query, here in enumerate(of)]
            for there, of in [(expected[:, number], observed.T) for number in range(2)]
        ]
        np.testing.assert_allclose(errors, naive, rtol=1e-5)


def test_a_block_is_held_to_the_division_that_foretells_it_best() -> None:
    """What happened in one part of training only is no less normal for it."""
    expected = np.zeros((4, 3, 1), np.float32)
    expected[:, 1] = 5.0
    assert block_errors(np.full((4, 1), 5.0, np.float32), expected).tolist() == [0.0]
    assert block_errors(np.full((4, 1), 2.0, np.float32), expected).tolist() == [2.0]


@pytest.mark.parametrize("side", ["ahead", "behind"])
def test_a_repeated_pattern_foretells_itself_at_another_level_and_size(side: str) -> None:
    beat = np.tile(np.random.default_rng(0).standard_normal(20), 20)
    index = SubsequenceIndex.of(beat, 16, NeighbourConfig())
    assert index is not None
    here = 100 + 3 * beat[:60]
    queries = paa(here, np.array([20]), 16, 64)
    steps = np.arange(4)
    offsets = 16 + steps if side == "ahead" else -1 - steps
    observed = here[20 + offsets][:, None].astype(np.float32)
    edged = np.pad(beat.astype(np.float32), len(offsets), constant_values=np.nan)
    expected = expected_beside(index, edged, index.query(queries), offsets)
    ((raw,), (centred,), (znormalised,)) = block_errors(observed, expected)
    assert znormalised < 1e-3
    assert centred > 0.5
    assert raw > 50
