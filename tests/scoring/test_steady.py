"""The part of a file that is learned from where nobody chose one."""

from collections.abc import Callable

import numpy as np
import pytest

from caps.scoring import FitOptions, Learned, SteadyConfig, rows_to_learn
from caps.scoring.learned import Stretch, steady_stretch
from caps.series import read

ROWS, DAY = 4000, 144
HALF = Stretch(0, ROWS // 2)


def daily(rows: int = ROWS, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(rows)
    return 10 + 3 * np.sin(2 * np.pi * np.arange(rows) / DAY) + 0.5 * noise


def stretch(values: np.ndarray) -> Stretch:
    return steady_stretch(values.reshape(len(values), -1))


def incident(values: np.ndarray) -> None:
    values[900:960] += 20


def night_without_values(values: np.ndarray) -> None:
    values[500:800] = np.nan


def incident_at_the_end_of_the_half(values: np.ndarray) -> None:
    values[1950:2100] -= 15


def later_shift(values: np.ndarray) -> None:
    values[2600:] += 15


def growth(values: np.ndarray) -> None:
    values += np.linspace(0, 40, len(values))


def growing_swings(values: np.ndarray) -> None:
    values *= np.linspace(1, 6, len(values))


@pytest.mark.parametrize(
    "happens",
    [
        incident,
        night_without_values,
        incident_at_the_end_of_the_half,
        later_shift,
        growth,
        growing_swings,
    ],
)
def test_the_first_half_is_learned_from_where_nothing_changes_for_good(
    happens: Callable[[np.ndarray], None],
) -> None:
    values = daily()
    happens(values)
    found = stretch(values)
    assert (found.start, found.why) == (0, "half")
    assert np.isfinite(values[: found.end]).sum() == np.isfinite(values).sum() // 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", range(7))
def test_a_weekend_at_either_end_is_no_change(first: int, seed: int) -> None:
    rows = np.arange(21 * 48)
    hour, day = rows % 48 / 2, (rows // 48 + first) % 7
    busy = np.exp(-(((hour - 14) / 4) ** 2)) * np.where(day < 5, 100, 25)
    noise = np.random.default_rng(seed).standard_normal(len(rows))
    assert stretch(20 + busy + 2.5 * noise) == Stretch(0, len(rows) // 2)


def shifted(values: np.ndarray, row: int) -> None:
    values[row:] += 15


def scaled(values: np.ndarray, row: int) -> None:
    values[row:] = 10 + 5 * (values[row:] - 10)


def faster(values: np.ndarray, row: int) -> None:
    values[row:] = 10 + 3 * np.sin(np.arange(len(values) - row))


@pytest.mark.parametrize("change", [shifted, scaled, faster])
def test_what_lies_beyond_a_lasting_change_is_not_learned_from(
    change: Callable[[np.ndarray, int], None],
) -> None:
    values, row, block = daily(), 1500, ROWS // SteadyConfig().blocks
    change(values, row)
    found = stretch(values)
    assert (found.start, found.why) == (0, "before")
    assert row - 4 * block < found.end <= row
    assert found.change is not None
    assert abs(found.change - row) <= 2 * block


@pytest.mark.parametrize("change", [shifted, scaled, faster])
def test_an_early_change_moves_the_part_behind_it(
    change: Callable[[np.ndarray, int], None],
) -> None:
    values, row = daily(), 400
    change(values, row)
    found = stretch(values)
    assert found.why == "after"
    assert row <= found.start < row + 300
    assert found.end == found.start + ROWS // 2


def test_two_early_changes_are_both_left_behind() -> None:
    values = daily()
    shifted(values, 400)
    shifted(values, 900)
    found = stretch(values)
    assert found.why == "after"
    assert 900 <= found.start < 1200


def test_a_sensor_that_was_dead_at_first_is_learned_from_when_it_lives() -> None:
    values = daily()
    values[:1200] = 0.0
    found = stretch(values)
    assert found.why == "after"
    assert found.start >= 1200


def test_rows_before_the_first_value_are_not_counted() -> None:
    values = daily()
    values[:1000] = np.nan
    found = stretch(values)
    assert 900 <= found.start <= 1000
    assert 2400 <= found.end <= 2560


def test_half_of_a_series_that_keeps_changing_is_learned_from() -> None:
    noise = np.random.default_rng(0).standard_normal(ROWS)
    values = 3.0 ** (np.arange(ROWS) // 300) + 0.5 * noise
    assert stretch(values) == Stretch(0, ROWS // 2, "restless")


def test_one_wild_channel_of_many_decides_nothing() -> None:
    values = np.stack([daily(seed=seed) for seed in range(30)], axis=1)
    wild = values.copy()
    shifted(wild[:, 7], 1200)
    assert steady_stretch(wild) == HALF
    for column in range(10):
        shifted(values[:, column], 1200)
    assert steady_stretch(values).why == "before"


@pytest.mark.parametrize("rows", [1, 40, 200, 299])
def test_short_files_are_not_split(rows: int) -> None:
    assert stretch(daily(rows)) == Stretch(0, rows, "short")


def test_a_file_just_long_enough_keeps_enough_rows() -> None:
    assert stretch(daily(300)).end == SteadyConfig().least_rows


@pytest.mark.parametrize("values", [np.full(1000, 7.0), np.arange(1000) % 2.0])
def test_what_stands_still_or_switches_is_split_in_half(values: np.ndarray) -> None:
    assert stretch(values) == Stretch(0, 500)


def test_without_any_value_nothing_is_split() -> None:
    assert stretch(np.full(1000, np.nan)) == Stretch(0, 1000, "short")


def test_a_counter_that_restarts_has_not_changed() -> None:
    count = np.cumsum(daily())
    count[1200:] -= count[1199]
    learned = rows_to_learn(read(count), FitOptions(train="steady"))
    assert (learned.start, learned.end) in {(0, ROWS // 2), (0, ROWS // 2 + 1)}


def test_known_anomalies_are_no_change() -> None:
    values = daily()
    values[:400] += 30
    options = FitOptions(train="steady")
    assert rows_to_learn(read(values), options).start >= 400
    assert rows_to_learn(read(values), options, [(0, 400)]).why == ""


@pytest.mark.parametrize("train", [None, "all", " all "])
def test_all_rows_are_learned_from_by_a_fit_that_is_told_nothing_or_all(train: str | None) -> None:
    learned = rows_to_learn(read(daily()), FitOptions(train=train))
    assert (learned.start, learned.end) == (0, ROWS)


def test_a_fit_of_rows_that_are_scored_proposes_a_part() -> None:
    assert FitOptions().for_own_rows().train == "steady"
    assert FitOptions(train="all").for_own_rows().train == "all"
    assert FitOptions(train=0.3).for_own_rows().train == 0.3


def test_the_sentence_names_rows_times_reason_and_remedy() -> None:
    time = np.datetime64("2024-06-01") + np.arange(ROWS) * np.timedelta64(10, "m")
    values = daily()
    series = read({"time": time, "load": values})
    proposed = FitOptions(train="steady")
    assert rows_to_learn(series, proposed).sentence == (
        "learned from the first 2,000 of 4,000 rows, 2024-06-01 to 2024-06-14: "
        "give train= to choose another part"
    )
    shifted(values, 1500)
    said = rows_to_learn(read({"time": time, "load": values}), proposed).sentence
    assert ", before a change at about 2024-06-11" in said
    assert rows_to_learn(series, FitOptions(train=288)).sentence == (
        "learned from the first 288 of 4,000 rows, 2024-06-01 00:00 to 2024-06-02 23:50"
    )
    assert rows_to_learn(read(daily(200)), proposed).sentence == (
        "learned from all 200 rows, too few to keep some apart: give train= to choose another part"
    )


def test_the_rows_survive_their_file() -> None:
    learned = Learned(400, 900, 2000, "2024-06-01", "2024-06-03", "because", "choose")
    assert Learned.from_dict(learned.to_dict()) == learned
    assert (
        learned.within(50, 2050).part
        == "rows 450 to 949 of 2,050, 2024-06-01 to 2024-06-03, because"
    )
