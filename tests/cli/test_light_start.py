"""What commands import: nothing heavy before a file is read, and torch for detectors alone."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

HEAVY = {"torch", "sklearn", "scipy", "plotly", "matplotlib", "jinja2"}


def loaded_by(commands: list[list[str]], folder: Path) -> set[str]:
    """Heavy packages that one process has loaded after these commands."""
    code = (
        "import sys\nfrom caps.cli.main import main\n"
        f"for command in {commands}:\n"
        "    try:\n        main(command)\n"
        "    except SystemExit as stop:\n        code = stop.code\n"
        f"print('loaded', code, *({HEAVY} & {{*sys.modules}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True
    )
    *_, last = done.stdout.splitlines()
    _, code, *loaded = last.split()
    assert code == ("2" if commands[-1][1] == "bad.csv" else "0"), done.stderr
    return set(loaded)


@pytest.mark.parametrize("command", [["detect"], ["fit", "--out", "model"]])
def test_a_file_without_numbers_is_refused_before_anything_heavy_is_loaded(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "bad.csv").write_text("time,load\n2024-01-01,high\n2024-01-02,low\n")
    name, *options = command
    assert loaded_by([[name, "bad.csv", *options]], tmp_path) == set()


def test_rows_are_compared_and_events_named_without_torch_and_scikit_learn(tmp_path: Path) -> None:
    rows = np.arange(900)
    values = np.sin(rows / 8) + 0.1 * np.random.default_rng(0).standard_normal(len(rows))
    values[800:810] += 4
    times = pd.date_range("2024-03-01", periods=len(rows), freq="h")
    pd.DataFrame({"time": times, "load": values}).to_csv(tmp_path / "a.csv", index=False)
    steps = [
        ["detect", "a.csv", "--train", "600", "--out", "found"],
        ["fit", "a.csv", "--causal", "--train", "600", "--out", "model"],
        ["score", "model", "a.csv", "--out", "scores.csv"],
        ["events", "model", "a.csv"],
        ["watch", "model", "--input", "a.csv"],
    ]
    assert loaded_by(steps, tmp_path).isdisjoint({"torch", "sklearn"})
    found = pd.read_csv(tmp_path / "found" / "events.csv")
    assert set(found["kind"].dropna()) <= {"point", "periodic", "trend"}
    assert len(found) > 0
