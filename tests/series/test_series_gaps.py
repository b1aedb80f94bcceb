"""Gaps are bridged by lines."""

import numpy as np
from hypothesis import given, settings, strategies as st

from caps.series import bridge
from oracles.scoring import naive_bridge


@settings(max_examples=50)
@given(st.integers(1, 20), st.sampled_from([0.0, 0.3, 0.8, 1.0]), st.integers(0, 2**32 - 1))
def test_bridges_equal_their_definition(length: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    windows = rng.standard_normal((3, length))
    windows[rng.random((3, length)) < share] = np.nan
    expected = np.stack([naive_bridge(window) for window in windows])
    np.testing.assert_allclose(bridge(windows), expected, atol=1e-12)
    np.testing.assert_allclose(bridge(windows[0]), expected[0], atol=1e-12)


def test_bridging_leaves_the_caller_his_gaps() -> None:
    windows = np.array([[1.0, np.nan, 3.0]])
    bridge(windows)
    assert np.isnan(windows[0, 1])
