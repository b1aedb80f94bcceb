"""Runs: every cell once, whatever the methods do and however often the run is stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import slow_methods
from odd_methods import ODD, make
from small_series import WriteSeries

from caps.arrays import FloatArray
from caps.bench.cells import Record, read_cell, read_cells
from caps.bench.datasets import find_series, load_series
from caps.bench.execution import known_spans, run_cell
from caps.bench.runner import planned, run
from caps.errors import InputError
from caps.metrics import acf_window, evaluate
from patience import PATIENCE, wait_until

HERE = Path(__file__).parent


def alive(pattern: str) -> list[int]:
    """Processes whose command line holds a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if pattern in path.read_bytes().decode(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def one_cell(data: Path, method: str) -> tuple[Record, FloatArray | None]:
    (task,) = planned(find_series([data])[:1], [method], [0], make)
    return run_cell(task.cell, task.file, make)


def test_a_cell_holds_the_metrics_of_the_test_part_and_of_the_whole_series(
    data: Path, write_series: WriteSeries
) -> None:
    write_series()
    record, scores = one_cell(data, "level")
    series = load_series(find_series([data])[0])
    assert scores is not None
    for part, first in (("test", 300), ("whole", 0)):
        values, labels = series.values[first:], series.labels[first:]
        ours = evaluate(scores[first:], labels, series=values).as_dict()
        theirs = evaluate(
            scores[first:], labels, protocol="tsb-ad", window=acf_window(values, rule="2026")
        )
        assert record[part] == ours | {
            "standard_f1_tsb_ad": theirs.standard_f1,
            "affiliation_f_tsb_ad": theirs.affiliation_f,
            "vus_pr_2026": theirs.vus_pr,
            "vus_roc_2026": theirs.vus_roc,
            "window_2026": theirs.window,
        }
    assert record["test"]["window"] == 25
    assert set(record["seconds"]) == {"load", "fit", "score", "evaluate"}
    assert record["peak_memory_mb"] > 10
    assert (record["status"], record["rows"], record["train_rows"]) == ("done", 600, 300)


def test_a_series_without_test_anomalies_is_undefined_there_and_no_zero(
    data: Path, write_series: WriteSeries
) -> None:
    write_series(anomaly=(50, 60))
    record, _ = one_cell(data, "level")
    assert record["status"] == "done"
    assert record["test"] == {"undefined": "no anomaly in this part"}
    assert record["whole"]["vus_pr"] > 0


def test_a_part_shorter_than_the_window_is_undefined(data: Path, write_series: WriteSeries) -> None:
    write_series(rows=330, anomaly=(310, 315))
    path = next(data.glob("*.csv"))
    values = np.random.default_rng(0).random(330).cumsum()  # no period: a window of 125
    labels = (np.arange(330) // 5 == 62).astype(int)
    rows = "\n".join(f"{value},{label}" for value, label in zip(values, labels, strict=True))
    path.write_text(f"Data,Label\n{rows}\n")
    record, _ = one_cell(data, "level")
    assert "too few for a VUS window" in record["test"]["undefined"]
    assert record["whole"]["vus_pr"] > 0


def test_all_ones_are_scored_as_the_prediction_of_every_row(
    data: Path, write_series: WriteSeries
) -> None:
    write_series()
    record, _ = one_cell(data, "ones")
    assert record["test"]["standard_f1"] == pytest.approx(2 * 20 / 320)
    assert record["test"]["affiliation_f"] > 0.5


def test_a_bad_file_is_a_failed_row_with_the_reason(data: Path, write_series: WriteSeries) -> None:
    path = data / write_series()
    path.write_text(path.read_text().replace("Label", "Truth"))
    record, scores = one_cell(data, "level")
    assert scores is None
    assert record["status"] == "failed"
    assert "add a column of 0 and 1" in record["error"]
    assert "Traceback" in record["traceback"]
    assert "test" not in record


def test_methods_that_learn_from_labels_get_those_of_the_training_part_only(
    data: Path, write_series: WriteSeries
) -> None:
    write_series(anomaly=(290, 310))
    _, scores = one_cell(data, "labelled")
    assert scores is not None
    assert set(scores) == {10.0}


def test_diagnosis_is_told_a_tenth_of_the_anomalous_windows(
    data: Path, write_series: WriteSeries
) -> None:
    write_series(rows=8000, anomaly=(1000, 7500))
    series = load_series(find_series([data])[0])
    known = known_spans(series, seed=3)
    assert known == known_spans(series, seed=3)
    assert known != known_spans(series, seed=4)
    known_rows = np.zeros(8000, dtype=bool)
    for start, end in known:
        known_rows[start:end] = True
    assert not known_rows[:300].any()
    assert series.labels[known_rows].all()
    assert 0.05 < known_rows.sum() / series.labels.sum() < 0.15


def test_every_failure_costs_only_its_own_cell(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    write_series()
    methods = ["level", *ODD, "random"]
    files, out = find_series([data]), tmp_path / "out"
    assert run(files, ["hangs"], out, make=make, minutes=0.1).failed == 1
    state = run(files, methods, out, make=make)
    records = {record["method"]: record for record in read_cells(tmp_path / "out")}
    assert set(records) == set(methods)
    assert {name for name, each in records.items() if each["status"] == "done"} == {
        "level",
        "talks",
        "random",
    }
    assert (state.skipped, state.done, state.failed) == (1, 3, len(methods) - 4)
    kinds = {name: record.get("failure") for name, record in records.items()}
    assert (kinds["crashes"], kinds["hangs"], kinds["raises"]) == ("crash", "timeout", "error")
    assert "ended with code 3" in records["crashes"]["error"]
    assert "last words" in records["crashes"]["traceback"]
    assert "in hangs" in records["hangs"]["traceback"]
    assert "no luck today" in records["raises"]["error"]
    assert "in raises" in records["raises"]["traceback"]
    assert "not enough memory" in records["text"]["error"]
    assert "shape (599,) for 600 rows" in records["short"]["error"]
    assert "1 of 600 scores are not finite" in records["nan"]["error"]
    assert "done with you" in records["exits"]["error"]
    assert not alive(f"sleep\x00600.{os.getpid()}")


def test_a_second_run_computes_only_what_is_missing(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    for number in (1, 2, 3):
        write_series("NAB", number)
    out, files = tmp_path / "out", find_series([data])
    first = run(files, ["level", "raises"], out, make=make, save_scores=True)
    assert (first.total, first.done, first.failed) == (6, 3, 3)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    assert run(files, ["level", "raises"], out, make=make).computed == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.json")} == before

    lost, torn, bare = (task.cell.path(out) for task in planned(files, ["level"], [0], make))
    lost.unlink()
    torn.write_text(torn.read_text()[:100])
    bare.with_suffix(".npy").unlink()
    again = run(files, ["level", "raises"], out, make=make, save_scores=True, retry_failed=True)
    assert (again.skipped, again.done, again.failed) == (0, 3, 3)
    for path in (lost, torn, bare):
        record = read_cell(path)
        assert record is not None
        scores = np.load(path.with_suffix(".npy"))
        assert scores.shape == (600,)
        assert scores.dtype == np.float64
    assert not list(out.rglob(".*"))


SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
import slow_methods
from caps.bench.datasets import find_series
from caps.bench.runner import run
if __name__ == "__main__":
    run(find_series([Path({data!r})]), ["slow"], Path({out!r}), make=slow_methods.make, jobs=2)
"""


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_half_way_leaves_no_process_and_is_finished_later(
    data: Path,
    write_series: WriteSeries,
    tmp_path: Path,
    stop: signal.Signals,
) -> None:
    for number in range(6):
        write_series("NAB", number)
    out, script = tmp_path / "out", tmp_path / "stopped_run.py"
    script.write_text(SCRIPT.format(here=str(HERE), data=str(data), out=str(out)))
    process = subprocess.Popen(
        [sys.executable, script],
        stderr=subprocess.DEVNULL,
        env={**os.environ, slow_methods.RESULTS: str(out)},
    )
    wait_until(lambda: len(list(out.rglob("*.json"))) >= 2, "two results")
    process.send_signal(stop)
    assert process.wait(timeout=PATIENCE) != 0
    wait_until(lambda: not alive(f"parent_pid={process.pid}"), "the end of all children")
    finished = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    assert 2 <= len(finished) < 6
    assert all(json.loads(path.read_text())["status"] == "done" for path in finished)

    state = run(find_series([data]), ["slow"], out, make=slow_methods.make)
    assert (state.skipped, state.done) == (len(finished), 6 - len(finished))
    assert finished == {path: path.stat().st_mtime_ns for path in finished}


def test_unknown_methods_and_empty_runs_are_errors_before_any_work(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    write_series()
    files = find_series([data])
    with pytest.raises(InputError, match="there is no method 'lofty'"):
        run(files, ["lofty"], tmp_path / "out", make=make)
    with pytest.raises(InputError, match="no series to run"):
        run([], ["level"], tmp_path / "out", make=make)
    with pytest.raises(InputError, match="--jobs 0"):
        run(files, ["level"], tmp_path / "out", make=make, jobs=0)
    assert not (tmp_path / "out").exists()
