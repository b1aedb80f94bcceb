"""The commands of docs/bench.md run as printed."""

import re
import zipfile
from pathlib import Path

import pytest
from small_series import write_series

from caps.bench.selection import set_names
from caps.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")


def test_the_commands_run_as_printed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = set_names("dev-mini")
    with zipfile.ZipFile(tmp_path / "TSB-AD-U.zip", "w") as archive:
        for name in names:
            train = int(name.split("_tr_")[1].split("_")[0])
            anomaly = (train + 150, train + 170)
            series = data / write_series(data, rows=train + 300, train=train, anomaly=anomaly)
            archive.write(series, f"TSB-AD-U/{name}")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^caps (bench .+)$", PAGE.replace("\\\n", ""), re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main(command.split())
        assert stop.value.code == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert "## Overall, univariate, test part" in shown
    assert "## Alarms, totals, univariate, in hindsight, without TODS" in shown
    assert list((tmp_path / "leaderboard" / "uni").glob("lof.csv"))
    assert list((tmp_path / "tsb-ad" / "score" / "uni" / "lof").glob("*.npy"))
