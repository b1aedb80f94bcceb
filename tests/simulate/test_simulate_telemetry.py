"""The month of telemetry: clean training part, five incidents that show where they should."""

import numpy as np
import pytest

from caps.errors import InputError
from caps.simulate.telemetry import STEPS_PER_DAY, Telemetry, month_of_telemetry

SEEDS = (0, 1, 2)


@pytest.fixture(params=SEEDS, scope="module")
def month(request: pytest.FixtureRequest) -> Telemetry:
    return month_of_telemetry(request.param)


def during(month: Telemetry, name: str) -> np.ndarray:
    (incident,) = [each for each in month.incidents if each.name == name]
    return (month.time >= incident.start) & (month.time < incident.end)


def column(month: Telemetry, metric: str) -> np.ndarray:
    return month.values[:, month.metrics.index(metric)]


def a_week_before(month: Telemetry, rows: np.ndarray, metric: str) -> np.ndarray:
    earlier = np.isin(month.time, month.time[rows] - np.timedelta64(7, "D"))
    return column(month, metric)[earlier]


def test_it_covers_thirty_days_in_steps_of_ten_minutes(month: Telemetry) -> None:
    steps = np.diff(month.time)
    assert steps.min() == np.timedelta64(10, "m")
    assert month.time[-1] - month.time[0] == np.timedelta64(30 * 24 * 60 - 10, "m")
    assert month.values.shape == (len(month.time), len(month.metrics))


def test_same_seed_same_month_and_another_seed_another() -> None:
    first, again, other = (month_of_telemetry(seed) for seed in (7, 7, 8))
    assert np.array_equal(first.values, again.values, equal_nan=True)
    assert first.incidents == again.incidents
    assert first.incidents != other.incidents


def test_the_training_part_is_clean_and_incidents_do_not_meet(month: Telemetry) -> None:
    ends = [month.train_end, *(incident.end for incident in month.incidents)]
    starts = [*(incident.start for incident in month.incidents), month.time[-1]]
    assert all(end < start for end, start in zip(ends, starts, strict=True))
    assert not month.labels[month.time < month.train_end].any()
    assert np.count_nonzero(np.diff(month.labels.astype(int)) == 1) == 5


def test_rows_and_values_are_missing_but_never_a_whole_recorded_row(month: Telemetry) -> None:
    assert len(month.time) < 30 * STEPS_PER_DAY
    missing = np.isnan(month.values)
    assert missing.any(axis=0).all()
    assert 0 < missing.mean() < 0.02
    assert not missing.all(axis=1).any()


def test_days_repeat_and_weekends_are_calmer(month: Telemetry) -> None:
    requests = column(month, "requests")
    hour = month.time.astype("datetime64[h]").astype(int) % 24
    weekday = (month.time.astype("datetime64[D]").astype(int) + 3) % 7
    clean = ~month.labels
    assert np.nanmean(requests[clean & (hour == 15)]) > 3 * np.nanmean(
        requests[clean & (hour == 2)]
    )
    weekend = np.nanmean(requests[clean & (weekday >= 5)])
    assert weekend < 0.8 * np.nanmean(requests[clean & (weekday < 5)])


def test_metrics_share_the_load(month: Telemetry) -> None:
    clean = ~month.labels & ~np.isnan(month.values).any(axis=1)
    together = np.corrcoef(column(month, "requests")[clean], column(month, "cpu")[clean])[0, 1]
    assert together > 0.9


def test_spikes_stand_out_and_normal_points_lie_between_them(month: Telemetry) -> None:
    latency = column(month, "latency_ms")
    spikes, before = latency[during(month, "latency spikes")], latency[~month.labels]
    highest = np.nanmax(before)
    assert 3 < np.count_nonzero(spikes > highest) < 0.8 * len(spikes)


def test_an_outage_stops_the_requests(month: Telemetry) -> None:
    rows = during(month, "outage")
    assert np.nanmax(column(month, "requests")[rows]) < 0.1 * np.nanmin(
        a_week_before(month, rows, "requests")
    )


def test_a_costly_release_lifts_the_level(month: Telemetry) -> None:
    rows = during(month, "costly release")
    lift = np.nanmedian(column(month, "cpu")[rows]) - np.nanmedian(
        a_week_before(month, rows, "cpu")
    )
    assert 8 < lift < 25


def test_a_night_without_rest_looks_like_a_day(month: Telemetry) -> None:
    rows = during(month, "night without rest")
    requests = column(month, "requests")
    assert np.nanmean(requests[rows]) > 2 * np.nanmean(a_week_before(month, rows, "requests"))
    # Each value alone is ordinary: only the hour is wrong.
    assert np.nanmax(requests[rows]) < 1.25 * np.nanmax(requests[~month.labels])


def test_a_memory_leak_grows_slowly_and_ends_at_once(month: Telemetry) -> None:
    rows = np.flatnonzero(during(month, "memory leak"))
    memory = column(month, "memory_gb")
    day = np.nanmean(memory[rows[:STEPS_PER_DAY]]), np.nanmean(memory[rows[-STEPS_PER_DAY:]])
    assert day[1] > day[0] + 1
    assert np.nanmax(np.abs(np.diff(memory[rows]))) < 0.3
    assert np.nanmax(memory[rows[-2:]]) - np.nanmin(memory[rows[-1] + 1 : rows[-1] + 4]) > 2


def test_a_negative_seed_is_an_input_error() -> None:
    with pytest.raises(InputError, match="positive"):
        month_of_telemetry(-1)
