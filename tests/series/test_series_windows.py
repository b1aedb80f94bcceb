"""Sliding windows against the naive twin, as views."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps.errors import InputError
from caps.series import pad_short, sliding_windows, window_starts
from oracles.windows import naive_starts, naive_windows

LENGTHS = st.integers(1, 60)
SIZES = st.integers(1, 20)
STRIDES = st.integers(1, 25)


def ramp(length: int, channels: int | None = None) -> np.ndarray:
    values = np.arange(length, dtype=np.float64)
    return values if channels is None else values[:, None] + 100 * np.arange(channels)


@given(LENGTHS, SIZES, STRIDES)
def test_starts_equal_the_naive_twin(length: int, size: int, stride: int) -> None:
    assert window_starts(length, size, stride).tolist() == naive_starts(length, size, stride)


@given(LENGTHS, SIZES, STRIDES)
def test_every_row_is_covered_when_the_stride_is_no_longer_than_the_window(
    length: int, size: int, stride: int
) -> None:
    starts = window_starts(length, size, min(stride, size))
    covered = {row for start in starts for row in range(start, start + size)}
    assert set(range(length)) <= covered
    assert starts[-1] + size == length


@given(LENGTHS, SIZES, STRIDES, st.sampled_from([None, 1, 3]))
def test_windows_equal_the_naive_twin(
    length: int, size: int, stride: int, channels: int | None
) -> None:
    values = ramp(length, channels)
    windows = sliding_windows(values, size, stride)
    expected = np.array(naive_windows(values, size, stride))
    np.testing.assert_array_equal(windows[:], expected)
    np.testing.assert_array_equal(np.array([windows[i] for i in range(len(windows))]), expected)
    joined = np.concatenate([batch for _, batch in windows.batches(3)])
    np.testing.assert_array_equal(joined, expected)


def test_windows_are_views_of_the_values() -> None:
    values = ramp(1000, 2)
    windows = sliding_windows(values, size=64, stride=16)
    assert windows[0].shape == (64, 2)
    assert np.shares_memory(windows.view, values)
    assert np.shares_memory(windows[3], values)
    assert np.shares_memory(windows[10:20], values)
    assert windows[10:20].shape == (10, 64, 2)


def test_only_a_batch_with_the_right_aligned_window_is_copied() -> None:
    values = ramp(1001)
    windows = sliding_windows(values, size=64, stride=16)
    assert windows.starts[-1] - windows.starts[-2] < 16
    assert not np.shares_memory(windows[-3:], values)
    assert np.shares_memory(windows[-1], values)
    assert np.shares_memory(windows[:-1], values)


def test_windows_of_a_mask_follow_the_windows_of_the_values() -> None:
    observed = np.array([True, False, True])
    assert sliding_windows(observed, size=5)[0].tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("values", "padded"),
    [
        ([7.0], [7.0, 7.0, 7.0, 7.0]),
        ([1.0, 2.0], [1.0, 2.0, 1.0, 2.0]),
        ([1.0, 2.0, 3.0], [2.0, 1.0, 2.0, 3.0]),
    ],
)
def test_short_series_are_padded_in_front(values: list[float], padded: list[float]) -> None:
    assert pad_short(np.array(values), 4).tolist() == padded


def test_long_series_are_not_padded_and_not_copied() -> None:
    values = ramp(10)
    assert pad_short(values, 10) is values


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (4, 0), (-1, 1)])
def test_impossible_windows_are_refused(size: int, stride: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        window_starts(10, size, stride)


def test_an_empty_series_has_no_windows() -> None:
    with pytest.raises(InputError, match="empty"):
        window_starts(0, 4, 1)
    with pytest.raises(InputError, match="empty"):
        pad_short(np.empty(0), 4)
