"""Alarms at a budget: cells that hold them, tables that are rebuilt from cells alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from odd_methods import Level, make
from small_series import WriteSeries
from test_bench_tables import write_done

from caps.bench.alarms import RATE
from caps.bench.cells import Record, read_cells
from caps.bench.datasets import find_series, load_series
from caps.bench.execution import run_cell
from caps.bench.methods import make_method
from caps.bench.rendering import Table
from caps.bench.runner import planned, run
from caps.bench.settings import MakeMethod
from caps.bench.tables import build_tables
from caps.metrics import alarm_spans, budget_threshold, event_figures


def operator_of(data: Path, method: str, make: MakeMethod = make) -> Record:
    (task,) = planned(find_series([data])[:1], [method], [0], make)
    record, _ = run_cell(task.cell, task.file, make, operator=True)
    assert record["status"] == "done", record
    found: Record = record["operator"]
    return found


def test_the_threshold_comes_from_rows_that_the_method_did_not_learn(
    data: Path, write_series: WriteSeries
) -> None:
    write_series("UCR", anomaly=(450, 470))
    found = operator_of(data, "level")
    series = load_series(find_series([data])[0])
    half = Level(0).fit(series.values[:150]).score(series.values[:300])[150:]
    scores = Level(0).fit(series.values[:300]).score(series.values)[300:]
    alarms = alarm_spans(scores, budget_threshold(half, RATE))
    figures = event_figures(alarms, series.labels[300:], RATE)
    assert found["hindsight"] == {**figures.as_dict(), "top_1": True}
    assert figures.found == 1
    assert found["live"] == {"undefined": "no live mode"}


def test_caps_raises_its_own_alarms_in_hindsight_and_live(
    data: Path, write_series: WriteSeries
) -> None:
    write_series("NAB", rows=1200, train=700, anomaly=(900, 930))
    found = operator_of(data, "caps-memory", make_method)
    series = load_series(find_series([data])[0])
    for mode, causal in (("hindsight", False), ("live", True)):
        from caps import CAPS

        model = CAPS(causal=causal, alarms="1/1000").fit(series.values[:700])
        events = model.analyze(series.values).events
        spans = [(each.start - 700, each.end - 700) for each in events if each.start >= 700]
        figures = event_figures(spans, series.labels[700:], RATE).as_dict()
        assert {name: found[mode][name] for name in figures} == figures
        assert found[mode]["nab"]["windows"] == 1
        assert found[mode]["found"] == 1


def test_all_ones_are_one_alarm_and_silence_is_none(data: Path, write_series: WriteSeries) -> None:
    write_series()
    assert operator_of(data, "ones", make_method)["hindsight"]["flagged"] == 1
    assert operator_of(data, "constant", make_method)["hindsight"]["alarms"] == 0


def test_a_method_that_cannot_learn_half_says_so_and_keeps_its_result(
    data: Path, write_series: WriteSeries
) -> None:
    write_series()

    class Demanding(Level):
        def fit(self, train: np.ndarray) -> Any:
            if len(train) < 300:
                raise ValueError("too few rows")
            return super().fit(train)

    found = operator_of(data, "level", lambda name, seed: Demanding(seed))
    assert found["hindsight"] == {"undefined": "ValueError: too few rows"}


def test_figures_are_computed_on_request_and_kept_ever_after(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    write_series()
    files, out = find_series([data]), tmp_path / "out"
    assert run(files, ["level"], out, make=make).done == 1
    assert run(files, ["level"], out, make=make, operator=True).done == 1
    assert run(files, ["level"], out, make=make, operator=True).done == 0
    (before,) = read_cells(out)
    assert run(files, ["level"], out, make=make, save_scores=True).done == 1
    (after,) = read_cells(out)
    assert after["operator"] == before["operator"]


def figures_at(
    found: int, false: int, allowed: float, nab: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Figures of a series of two events."""
    values = event_figures([], [0, 1], RATE).as_dict() | {
        "events": 2,
        "found": found,
        "recall": found / 2,
        "any_found": float(found > 0),
        "false_alarms": false,
        "allowed": allowed,
        "over_budget": false / allowed,
        "top_1": found > 0,
    }
    return values | ({"nab": nab} if nab else {})


def tables_of(out: Path, **options: Any) -> dict[str, Table]:
    tables, _ = build_tables(out, **options)
    return {table.name: table for table in tables if table.name.startswith("operator_")}


def row_of(table: Table, method: str) -> dict[str, Any]:
    (row,) = [row for row in table.rows if row[0] == method]
    values = [getattr(entry, "value", entry) for entry in row]
    return dict(zip(table.header, values, strict=True))


def write_alarms(out: Path, dataset: str, number: int, **figures: Any) -> None:
    live = {"undefined": "no live mode"}
    operator = {"rate": RATE, "hindsight": figures_at(**figures), "live": live}
    write_done(out, "lof", dataset, number, 0.5, operator=operator)


def test_means_and_totals_are_those_of_the_cells(tmp_path: Path) -> None:
    write_alarms(tmp_path, "UCR", 1, found=2, false=1, allowed=1.0)
    write_alarms(tmp_path, "UCR", 2, found=0, false=9, allowed=2.0)
    write_alarms(tmp_path, "YAHOO", 3, found=1, false=0, allowed=1.0)
    tables = tables_of(tmp_path)
    over_series = row_of(tables["operator_series_univariate_hindsight"], "lof")
    assert over_series["Event recall, %"] == pytest.approx(50)
    assert over_series["False events / budget"] == pytest.approx(5.5 / 3)
    assert over_series["Delay, rows"] is None
    over_datasets = row_of(tables["operator_datasets_univariate_hindsight"], "lof")
    assert over_datasets["False events / budget"] == pytest.approx((2.75 + 0) / 2)
    totals = row_of(tables["operator_totals_univariate_hindsight"], "lof")
    assert (totals["Events"], totals["Found"], totals["False events"]) == (6, 3, 10)
    assert totals["False / budget"] == pytest.approx(2.5)
    assert totals["Within factor 3, %"] == pytest.approx(200 / 3)
    assert totals["Over 3 times, %"] == pytest.approx(100 / 3)
    assert totals["No true event, %"] == pytest.approx(100 / 3)
    assert totals["UCR top-1, %"] == 50
    assert totals["NAB, at the budget"] is None
    assert not [name for name in tables if name.endswith("live")]


def test_intervals_hold_the_mean_and_narrow_with_more_series(tmp_path: Path) -> None:
    def width(out: Path, count: int) -> float:
        for number in range(count):
            write_alarms(out, "UCR", number, found=number % 3, false=0, allowed=1.0)
        table = tables_of(out)["operator_series_univariate_hindsight"]
        text = str(getattr(table.rows[0][1], "text", ""))
        mean, low, high = (float(part.strip("[],")) for part in text.split())
        assert low < mean < high
        return high - low

    assert width(tmp_path / "many", 60) < width(tmp_path / "few", 6)


def test_datasets_that_stand_apart_count_in_no_other_table(tmp_path: Path) -> None:
    write_alarms(tmp_path, "UCR", 1, found=2, false=1, allowed=1.0)
    write_alarms(tmp_path, "TODS", 2, found=0, false=9, allowed=2.0)
    tables = tables_of(tmp_path, apart=["TODS"])
    assert row_of(tables["operator_totals_univariate_hindsight"], "lof")["Events"] == 2
    apart = tables["operator_totals_univariate_hindsight_apart"]
    assert row_of(apart, "lof")["False events"] == 9
    assert apart.title.endswith("TODS only")


def test_nab_is_scored_at_the_budget_and_under_one_threshold_for_all(tmp_path: Path) -> None:
    """Each series alone could have 1; together a threshold of 0.5 gives 1 + 0.5."""
    for number, thresholds in ((1, [0.9, 0.5]), (2, [0.5, 0.1])):
        raw = [1.0, 0.5] if number == 1 else [1.0, -3.0]
        nab = {"raw": -1.0, "windows": 1, "thresholds": thresholds, "raw_at": raw}
        write_alarms(tmp_path, "NAB", number, found=1, false=0, allowed=1.0, nab=nab)
    totals = row_of(tables_of(tmp_path)["operator_totals_univariate_hindsight"], "lof")
    assert totals["NAB, at the budget"] == 0
    assert totals["NAB, one threshold"] == pytest.approx(100 * (1.5 + 2) / 4)


def test_methods_without_a_live_mode_say_so(tmp_path: Path) -> None:
    write_alarms(tmp_path, "UCR", 1, found=2, false=1, allowed=1.0)
    both = figures_at(2, 0, 1.0)
    operator = {"rate": RATE, "hindsight": both, "live": both}
    write_done(tmp_path, "caps", "UCR", 1, 0.5, operator=operator)
    live = tables_of(tmp_path)["operator_totals_univariate_live"]
    assert [row[0] for row in live.rows] == ["caps"]
    assert "Without figures (no live mode): lof." in live.notes
