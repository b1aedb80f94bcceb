"""What is expected beside a subsequence is what lay beside the like of it in training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caps.neighbours.config import NeighbourConfig
from caps.neighbours.forecasts import block_errors, expected_beside
from caps.neighbours.index import FORMS, Form, SubsequenceIndex, in_forms, paa
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
    found, wanted = index.query(queries, zone)[form], in_forms(queries, CONFIG.least_std)
    steps = np.arange(HORIZON)
    offsets = LENGTH + steps if side == "ahead" else -1 - steps
    edged = np.pad(rows, HORIZON, constant_values=np.nan)
    expected = expected_beside(index, edged, form, found, wanted, offsets)
    assert expected.shape == (5, CONFIG.divisions, HORIZON)
    for row, query in enumerate(queries):
        for division, which in enumerate(found.of_divisions[row].tolist()):
            start = None if which < 0 else int(index.starts[which])
            then = index.subsequences[which]
            naive = [
                naive_expected(rows, start, offset, form, then, query, CONFIG.least_std)
                for offset in offsets.tolist()
            ]
            np.testing.assert_allclose(expected[row, division], naive, rtol=1e-3, atol=1e-3)
    assert np.isnan(expected[1]).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2, 0.6, 1.0]), st.integers(1, 4))
def test_errors_of_blocks_equal_loops_over_rows(seed: int, missing: float, divisions: int) -> None:
    rng, horizons = np.random.default_rng(seed), (1, 4, 16)
    observed = rng.standard_normal((6, HORIZON)).astype(np.float32)
    expected = rng.standard_normal((6, divisions, HORIZON)).astype(np.float32)
    observed[rng.random(observed.shape) < missing / 2] = np.nan
    expected[rng.random(expected.shape) < missing] = np.nan
    errors = block_errors(observed, expected, horizons)
    naive = [
        [naive_block_error(here, there, horizon) for horizon in horizons]
        for here, there in zip(observed, expected, strict=True)
    ]
    np.testing.assert_allclose(errors, naive, rtol=1e-5)


def test_a_block_is_held_to_the_division_that_foretells_it_best() -> None:
    """What happened in one part of training only is no less normal for it."""
    expected = np.zeros((1, 3, 4), np.float32)
    expected[0, 1] = 5.0
    assert block_errors(np.full((1, 4), 5.0, np.float32), expected, [1, 4]).tolist() == [[0.0, 0.0]]
    assert block_errors(np.full((1, 4), 2.0, np.float32), expected, [4]).tolist() == [[2.0]]


@pytest.mark.parametrize("side", ["ahead", "behind"])
def test_a_repeated_pattern_foretells_itself_at_another_level_and_size(side: str) -> None:
    beat = np.tile(np.random.default_rng(0).standard_normal(20), 20)
    index = SubsequenceIndex.of(beat, 16, NeighbourConfig())
    assert index is not None
    here = 100 + 3 * beat[:60]
    queries = paa(here, np.array([20]), 16, 64)
    steps = np.arange(4)
    offsets = 16 + steps if side == "ahead" else -1 - steps
    observed = here[20 + offsets][None].astype(np.float32)
    error = {
        form: block_errors(
            observed,
            expected_beside(
                index,
                np.pad(beat.astype(np.float32), len(offsets), constant_values=np.nan),
                form,
                found,
                in_forms(queries, index.least_std),
                offsets,
            ),
            [4],
        )[0, 0]
        for form, found in index.query(queries).items()
    }
    assert error["znormalised"] < 1e-3
    assert error["centred"] > 0.5
    assert error["raw"] > 50
