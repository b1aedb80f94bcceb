"""Which windows of a training part become references."""

import numpy as np
import pytest

from caps.errors import InputError
from caps.recover import reference_windows


def test_references_come_every_four_rows_and_end_with_the_series(rng: np.random.Generator) -> None:
    values = np.arange(1001.0)
    references = reference_windows(values, rng=rng)
    assert (np.diff(references.starts)[:-1] == 4).all()
    assert references.starts[-1] == 1001 - 256
    assert (references.windows[:, 0] == references.starts).all()
    assert references.windows.dtype == np.float32
    assert references.trusted.all()


def test_a_short_training_part_is_read_at_every_row(rng: np.random.Generator) -> None:
    assert len(reference_windows(np.arange(256.0 + 62 * 4), rng=rng)) == 62 * 4 + 1
    assert len(reference_windows(np.arange(256.0 + 63 * 4), rng=rng)) == 64


def test_a_series_shorter_than_a_window_is_reflected(rng: np.random.Generator) -> None:
    values = np.arange(100.0)
    references = reference_windows(values, rng=rng)
    assert references.windows.shape == (1, 256)
    assert references.starts.tolist() == [-156]
    assert (references.windows[0, -100:] == values).all()
    assert references.windows[0, -101] == 1.0


def test_a_single_row_is_still_a_reference(rng: np.random.Generator) -> None:
    assert (reference_windows(np.array([2.0]), rng=rng).windows == 2.0).all()


def test_the_limit_is_a_seeded_choice_in_order_of_time() -> None:
    values = np.arange(5000.0)
    first, again, other = (
        reference_windows(values, limit=50, rng=np.random.default_rng(seed)).starts
        for seed in (1, 1, 2)
    )
    assert len(first) == 50
    assert (np.diff(first) > 0).all()
    assert (first == again).all()
    assert (first != other).any()


def test_gaps_are_bridged_but_not_trusted(rng: np.random.Generator) -> None:
    values = np.arange(600.0)
    values[300:320] = np.nan
    observed = np.isfinite(values)
    references = reference_windows(values, rng=rng)
    rows = references.starts[:, None] + np.arange(256)
    assert np.allclose(references.windows, rows)
    assert (references.trusted == observed[rows]).all()


def test_windows_observed_for_less_than_half_are_no_references(rng: np.random.Generator) -> None:
    values = np.zeros(2000)
    values[800:1200] = np.nan
    references = reference_windows(values, rng=rng)
    assert (references.trusted.mean(axis=1) >= 0.5).all()
    assert 700 not in references.starts
    assert 672 in references.starts  # exactly half of it was observed


def test_a_series_of_gaps_is_refused_with_a_remedy(rng: np.random.Generator) -> None:
    values = np.full(600, np.nan)
    with pytest.raises(InputError, match="no value was observed"):
        reference_windows(values, rng=rng)
    values[::3] = 1.0
    with pytest.raises(InputError, match="fewer gaps"):
        reference_windows(values, rng=rng)


def test_several_channels_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="one channel"):
        reference_windows(np.zeros((600, 2)), rng=rng)
