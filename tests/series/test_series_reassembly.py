"""Point scores from window scores: against the naive twin."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps.errors import InputError
from caps.series import reassemble, window_starts
from caps.series.windows import window_weights
from oracles.windows import naive_reassembly

KINDS = st.sampled_from(["hann", "flat"])
LENGTHS = st.integers(1, 80)
SIZES = st.integers(1, 24)


def random_scores(starts: np.ndarray, size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((len(starts), size))


@st.composite
def scored_windows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Scores of windows at any stride, their starts, and the rows of the series."""
    length, size = draw(LENGTHS), draw(SIZES)
    starts = window_starts(length, size, draw(st.integers(1, size)))
    return random_scores(starts, size, draw(st.integers(0, 99))), starts, length


@given(scored_windows(), KINDS)
def test_reassembling_ones_gives_ones(windows: tuple[np.ndarray, np.ndarray, int], kind) -> None:
    scores, starts, length = windows
    points = reassemble(np.ones(scores.shape), starts, length, kind)
    assert points.tolist() == [1.0] * length


@given(scored_windows(), KINDS)
def test_reassembly_equals_the_naive_twin(
    windows: tuple[np.ndarray, np.ndarray, int], kind
) -> None:
    scores, starts, length = windows
    weights = window_weights(scores.shape[1], kind)
    expected = naive_reassembly(scores, starts.tolist(), length, weights)
    np.testing.assert_allclose(reassemble(scores, starts, length, kind), expected, rtol=1e-12)


@given(st.integers(1, 600), KINDS)
def test_weights_are_positive_and_symmetric(size: int, kind) -> None:
    weights = window_weights(size, kind)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights, weights[::-1])


def test_the_middle_of_a_window_counts_more_than_its_edge() -> None:
    scores = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    points = reassemble(scores, np.array([0, 2]), 6, "hann")
    edge, middle = np.sin(np.pi / 8) ** 2, np.sin(3 * np.pi / 8) ** 2
    assert points[2] == pytest.approx(edge / (edge + middle))
    assert points[3] == pytest.approx(middle / (edge + middle))


def test_a_not_a_number_score_stays_visible_and_local() -> None:
    scores = np.ones((3, 2))
    scores[1, 1] = np.nan
    points = reassemble(scores, np.array([0, 1, 2]), 4, "flat")
    assert np.isnan(points).tolist() == [False, False, True, False]


def test_rows_that_no_window_covers_are_refused() -> None:
    with pytest.raises(InputError, match="no window covers row 2"):
        reassemble(np.ones((2, 2)), np.array([0, 4]), 6, "flat")


def test_a_forgotten_last_window_is_refused() -> None:
    with pytest.raises(InputError, match="the series at 7"):
        reassemble(np.ones((2, 3)), np.array([0, 3]), 7, "flat")


def test_windows_out_of_order_are_refused() -> None:
    for starts in ([0, 0, 1], [1, 0, 1]):
        with pytest.raises(InputError, match="out of order"):
            reassemble(np.ones((3, 2)), np.array(starts), 3, "flat")


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="choose from hann, flat"):
        window_weights(3, "square")
    with pytest.raises(InputError, match="window, time"):
        reassemble(np.ones(4), np.array([0]), 4, "flat")
    with pytest.raises(InputError, match="for 2 starts"):
        reassemble(np.ones((1, 3)), np.array([0, 1]), 4, "flat")
