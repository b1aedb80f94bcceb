"""`caps bench` from end to end on small data, with real methods."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_series import WriteSeries

from caps.bench.cells import read_cells
from caps.cli.main import main


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    return int(stop.value.code or 0)


def test_run_table_and_scores_work_on_a_folder(
    data: Path, write_series: WriteSeries, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_series("NAB", 1)
    write_series("UCR", 2)
    write_series("MSL", 3, channels=3)
    out = tmp_path / "out"
    command = ["run", "--data", str(data), "--methods", "random,ones,lof", "--out", str(out)]
    assert call(*command, "--save-scores", "--jobs", "2", "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["cells"], counts["done"], counts["failed"]) == (9, 9, 0)
    assert call(*command, "--json") == 0
    assert json.loads(capsys.readouterr().out)["there_before"] == 9

    assert call("table", str(out)) == 0
    shown = capsys.readouterr().out
    assert "## Overall, univariate, test part" in shown
    assert "## Overall, multivariate, test part" in shown
    assert "| paper: LOF |" in shown
    assert call("scores", str(out), "--submission", str(tmp_path / "sub")) == 0
    assert len(list((tmp_path / "sub" / "score").rglob("*.npy"))) == 9
    values = {each["method"]: each["test"]["vus_pr"] for each in read_cells(out)}
    assert values["lof"] > values["random"]


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["--methods", "lofty"], "choose from"),
        (["--methods", "lof", "--seeds", "one"], "whole numbers"),
        (["--methods", ","], "names like --methods caps,lof"),
        (["--methods", "lof", "--set", "dev-mini"], "give the zips that hold them"),
        (["--methods", "lof", "--datasets", "UCR"], "there are NAB"),
        (["--methods", "lof", "--minutes", "0"], "above 0"),
    ],
)
def test_bad_input_ends_with_a_remedy(
    data: Path,
    write_series: WriteSeries,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    remedy: str,
) -> None:
    write_series()
    out = str(tmp_path / "out")
    assert call("run", "--data", str(data), "--out", out, *arguments) == 2
    assert remedy in capsys.readouterr().err


def test_tables_need_no_torch() -> None:
    code = "import sys, caps.bench.tables; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
