"""The score of a row is that of the row and its context, whatever else is in the file."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from caps.events.events import find_events
from caps.scoring import FitOptions, Fitted, fit, read_input
from caps.scoring.config import ModelConfig, ScoringConfig

TRAINING, ROWS, ODD = 1500, 6000, 3000
REACH = 550  # rows of context on either side, more than the longest subsequence that fits
# Of the same file: some of training, new rows only, and a slice at odd offsets.
SLICES = [(700, 6000), (1500, 6000), (1517, 5801)]


def waves(seed: int = 0, rows: int = ROWS) -> np.ndarray:
    rng, phase = np.random.default_rng(seed), np.arange(rows) * 2 * np.pi / 40
    return np.sin(phase) + 0.3 * np.sin(3 * phase + 1) + 0.1 * rng.standard_normal(rows)


@cache
def fitted(*, causal: bool, follows: bool = True) -> Fitted:
    slack = {} if follows else {"slack_mean": 1e6, "slack_std": 1e6}
    # What is new is followed as fast as all else, so that a short file shows where that ends.
    config = ModelConfig(scoring=replace(ScoringConfig(), trusted_rows=TRAINING, **slack))
    options = FitOptions(causal=causal, config=config)
    return fit(read_input(waves()[:, None]), TRAINING, None, options)


def scores(values: np.ndarray, *, causal: bool, follows: bool = True) -> np.ndarray:
    return fitted(causal=causal, follows=follows).score(read_input(values[:, None])).score


@cache
def of_the_whole(*, causal: bool, follows: bool = True) -> np.ndarray:
    return scores(waves(), causal=causal, follows=follows)


def farthest(first: int, last: int, **options: bool) -> float:
    """The largest difference of a score in a slice from that in the whole."""
    whole = of_the_whole(**options)[first:last]
    part = scores(waves()[first:last], **options)
    inside = slice(REACH if first else 0, len(part) - (REACH if last < ROWS else 0))
    return float(np.abs(whole - part)[inside].max())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("first", "last"), SLICES)
def test_scores_do_not_depend_on_where_a_file_begins_and_ends(
    first: int, last: int, causal: bool
) -> None:
    # What is usual is followed over other rows then: more than the 0.01 without following.
    assert farthest(first, last, causal=causal) < 0.15


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("first", [300, 600, 617])
def test_a_row_with_all_that_is_followed_around_it_scores_alike(first: int, causal: bool) -> None:
    """In slices of files that begin and end elsewhere, with more than the span on either side."""
    training, values = 600, waves(rows=4500)
    model = fit(read_input(values[:, None]), training, None, FitOptions(causal=causal))
    whole, part = (
        model.score(read_input(each[:, None])).score for each in (values, values[first:-99])
    )
    memory = model.channels[0].memory
    reach = memory.novelty_pace + 200
    change = np.abs(whole[first:-99] - part)[reach:-reach]
    assert len(change) > 1500
    assert change.max() < 0.015


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("first", "last"), SLICES)
def test_without_following_slices_are_compared_as_the_whole_is(
    first: int, last: int, causal: bool
) -> None:
    assert farthest(first, last, causal=causal, follows=False) < 0.01


@pytest.mark.parametrize("causal", [False, True])
def test_an_anomaly_changes_no_score_far_from_it(causal: bool) -> None:
    """Beyond the span over which what is usual is followed, nothing is left of it."""
    values = waves()
    values[ODD : ODD + 20] += 3
    change = np.abs(scores(values, causal=causal) - of_the_whole(causal=causal))
    assert change[ODD : ODD + 20].max() > 0.3
    far = TRAINING + REACH + 200
    np.testing.assert_allclose(change[ODD + far :], 0, atol=1e-6)
    np.testing.assert_array_equal(change[: ODD if causal else ODD - far], 0)


@pytest.mark.parametrize("causal", [False, True])
def test_training_rows_are_scored_alike_wherever_they_stand(causal: bool) -> None:
    """Whole or in part, at the start of a file or behind other rows, they match no self."""
    values = waves()
    own = of_the_whole(causal=causal, follows=False)[:TRAINING]
    moved = np.concatenate([waves(seed=3, rows=480), values[:TRAINING]])
    behind = scores(moved, causal=causal, follows=False)[480:]
    part = scores(values[200:TRAINING], causal=causal, follows=False)
    inside = slice(500, TRAINING - 300)
    assert np.abs(own - behind)[inside].max() < 0.01
    assert np.abs(own[200:] - part)[300 : TRAINING - 500].max() < 0.01


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("first", "last"), SLICES)
def test_an_incident_is_an_event_in_every_slice_of_its_file(
    first: int, last: int, causal: bool
) -> None:
    values = waves()
    values[ODD : ODD + 20] += 2
    model = fitted(causal=causal)
    found = model.score(read_input(values[first:last, None]))
    events = find_events(found.score, model.threshold("1/1000"), local=found.local, causal=causal)
    strongest = max(events, key=lambda event: event.score)
    # Another odd row nearby, as one in a hundred is, is taken for a part of it.
    assert abs(strongest.start + first - ODD) <= 10
    assert abs(strongest.end + first - ODD - 20) <= (60 if causal else 8)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("noise", [True, False], ids=["noise", "wave"])
def test_a_sensor_that_dies_is_an_event(noise: bool, causal: bool) -> None:
    values = np.random.default_rng(1).standard_normal(ROWS) if noise else waves()
    values[ODD : ODD + 800] = values[ODD]
    series = read_input(values[:, None])
    model = fit(series, TRAINING, None, FitOptions(causal=causal))
    found = model.score(series)
    events = find_events(found.score, model.threshold("1/1000"), local=found.local, causal=causal)
    dead = [event for event in events if event.start < ODD + 800 and event.end > ODD + 100]
    assert dead
    assert min(event.start for event in dead) < ODD + 100
    assert sum(event.end - event.start for event in dead) > 100
