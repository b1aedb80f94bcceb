"""`caps bench` from end to end on small data, with real methods."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_series import WriteSeries

from caps.bench.cells import read_cells
from caps.bench.selection import set_names
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
    assert "## By TSB-AD's rules, VUS-PR, multivariate, whole series" in shown
    assert "## Overall, multivariate, test part" in shown
    assert "| paper: LOF |" in shown
    assert call("scores", str(out), "--submission", str(tmp_path / "sub")) == 0
    assert len(list((tmp_path / "sub" / "score").rglob("*.npy"))) == 9
    values = {each["method"]: each["test"]["vus_pr"] for each in read_cells(out)}
    assert values["lof"] > values["random"]


def test_a_list_of_tsb_ad_is_run_as_far_as_it_is_there_and_the_rest_is_told(
    data: Path, write_series: WriteSeries, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, out = set_names("tsb-ad-u-tuning"), str(tmp_path / "out")
    (data / write_series("NAB", 901, rows=1700)).rename(data / listed[0])
    write_series("NAB", 902)
    of_list = ("--set", "tsb-ad-u-tuning")
    command = ("run", "--data", str(data), "--methods", "random,squared-difference", "--out", out)
    assert call(*command, *of_list, "--json") == 0
    shown = capsys.readouterr()
    counts = json.loads(shown.out)
    assert (counts["cells"], counts["failed"]) == (2, 0)
    assert counts["missing"] == listed[1:]
    assert "47 series of tsb-ad-u-tuning are not in the data" in shown.err
    assert call(*command) == 0
    assert "series of" not in capsys.readouterr().err

    folder = tmp_path / "leaderboard"
    assert call("table", out, *of_list, "--leaderboard", str(folder)) == 0
    shown = capsys.readouterr()
    assert "47 series of tsb-ad-u-tuning are not among the results" in shown.err
    assert "Set tsb-ad-u-tuning: 1 of its 48 series, 47 are missing." in shown.out
    lines = (folder / "uni" / "random.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["file", listed[0]]
    assert call("table", out, *of_list, "--json") == 0
    assert json.loads(capsys.readouterr().out)["missing"] == listed[1:]
    assert call("table", out, "--set", "tsb-ad-m-eva") == 2
    assert "holds no results of the set 'tsb-ad-m-eva'" in capsys.readouterr().err


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
