"""The drift watch: quiet on what looks like calibration, loud on what does not, soon enough."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import expit

from caps.scoring.calibration import Calibration, calibrate
from caps.stream.config import DriftConfig
from caps.stream.drift import DriftWatch

PAGE = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text(encoding="utf-8")
LIMIT, SPACING = DriftConfig().limit, DriftConfig().spacing


def scores(rng: np.random.Generator, rows: int, shift: float = 0.0) -> np.ndarray:
    """Scores that hang together over a dozen rows, like those of overlapping windows."""
    noise = lfilter([np.sqrt(1 - 0.9**2)], [1.0, -0.9], rng.standard_normal(rows + 100))[100:]
    return np.asarray(expit(noise - 3 + shift))


def samples_until_found(calibration: Calibration, given: np.ndarray) -> int | None:
    watch = DriftWatch(calibration)
    watch.watch(calibration.p_values(given))
    return watch.samples if watch.found else None


@pytest.mark.parametrize("held_out", [400, 4000])
def test_stationary_streams_are_left_alone(held_out: int) -> None:
    rng = np.random.default_rng(held_out)
    streams, samples = 40, 1000
    found = 0
    for _ in range(streams):
        calibration = calibrate(scores(rng, held_out))
        found += samples_until_found(calibration, scores(rng, samples * SPACING)) is not None
    # At most one false recommendation in LIMIT samples on average: 4 are expected at the very most.
    assert found <= streams * samples / LIMIT + 3


@pytest.mark.parametrize(("shift", "samples"), [(2.0, 100), (4.0, 40), (-4.0, 40)])
def test_a_drift_up_or_down_is_found(shift: float, samples: int) -> None:
    rng = np.random.default_rng(7)
    calibration = calibrate(scores(rng, 4000))
    before = scores(rng, 200 * SPACING)
    after = scores(rng, samples * SPACING, shift)
    found = samples_until_found(calibration, np.concatenate([before, after]))
    assert found is not None
    assert found > 200


def test_one_long_event_is_no_drift() -> None:
    rng = np.random.default_rng(8)
    calibration = calibrate(scores(rng, 4000))
    given = scores(rng, 100 * SPACING)
    given[3000 : 3000 + 3 * SPACING] = 0.999
    assert samples_until_found(calibration, given) is None


def test_rows_without_values_and_ties_at_the_lowest_score_are_no_drift() -> None:
    rng = np.random.default_rng(9)
    held = scores(rng, 4000)
    held[rng.random(4000) < 0.6] = 0.001  # most rows say nothing at all
    calibration = calibrate(held)
    given = np.where(rng.random(40_000) < 0.6, 0.001, scores(rng, 40_000))
    given[rng.random(40_000) < 0.3] = np.nan
    assert samples_until_found(calibration, given) is None


def rows_until_found(calibration: Calibration, highest: float) -> int:
    """Rows with p-values spread evenly up to `highest`."""
    p_values = np.random.default_rng(1).random(200_000) * highest
    watch = DriftWatch(calibration)
    assert watch.watch(p_values)
    return watch.rows


def test_a_short_calibration_finds_drift_late_and_the_page_says_how_late() -> None:
    found = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert len(found) == 5
    for row in found:
        held_out, *stated = (int(each.replace(",", "")) for each in row)
        calibration = calibrate(np.random.default_rng(0).random(held_out))
        assert [rows_until_found(calibration, highest) for highest in (0.0, 0.3)] == stated
