"""`caps fleet fit` and `caps fleet score`: outputs, summary, exit codes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_fleet import ROWS, TRAIN, Fleet, InlineEngine, frame_of

from caps import CAPS
from caps.cli.main import main
from caps.scoring import FitOptions
from caps.scoring.channels import BinaryChannel, LearnedChannel
from caps.store import Store


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("caps.fleet.fleet.open_engine", lambda *_, **__: InlineEngine())
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["fleet", *(str(argument) for argument in arguments)])
    shown = capsys.readouterr()
    assert stop.value.code == code, shown.err
    return shown.out if code < 2 else shown.err


def test_fit_and_score_tell_and_write_the_outcome(
    capsys: pytest.CaptureFixture[str], settings: FitOptions
) -> None:
    pd.concat([frame_of(0).assign(host="a"), frame_of(1).assign(host="b")]).to_parquet("all.pq")
    options = ["all.pq", "--id", "host", "--columns", "load", "--pretrained", settings.pretrained]
    facts = json.loads(run(capsys, "fit", *options, "--train", TRAIN, "--out", "fleet", "--json"))
    assert (facts["series"], facts["done"], facts["failed"]) == (2, 2, 0)
    assert {each["series"] for each in facts["ranking"]} == {"a", "b"}
    again = run(capsys, "fit", *options, "--train", TRAIN, "--out", "fleet")
    assert "2 were finished before" in again
    printed = run(
        capsys, "score", *options, "--models", "fleet", "--alarms", "1/20", "--out", "new"
    )
    assert "summary.html" in printed
    table = pd.read_parquet("new/series.parquet")
    assert table["alarms"].tolist() == ["1/20", "1/20"]
    assert table["model"].map(lambda path: Path(path).is_dir()).all()


@pytest.mark.parametrize(
    ("options", "kind"), [([], BinaryChannel), (["--switches"], LearnedChannel)]
)
def test_switches_are_learned_on_demand(
    capsys: pytest.CaptureFixture[str], settings: FitOptions, options: list[str], kind: type
) -> None:
    Path("hosts").mkdir()
    valve = np.repeat(np.arange(ROWS // 40) % 2, 40)
    frame_of(0).assign(valve=valve).to_csv("hosts/a.csv", index=False)
    run(
        capsys,
        *("fit", "hosts", "--pretrained", settings.pretrained, "--train", TRAIN, "--out", "fleet"),
        *options,
    )
    channels = CAPS.load("fleet/models/a").fitted_.channels
    assert type(channels[1]) is kind


def test_failures_are_listed_and_end_with_exit_code_1(
    capsys: pytest.CaptureFixture[str], fleet: Fleet, settings: FitOptions
) -> None:
    Path("broken").mkdir()
    (fleet.source / "broken.csv").rename(Path("broken") / "bad.csv")
    shown = run(capsys, "fit", "broken", "--pretrained", settings.pretrained, "--out", "o", code=1)
    (Path("broken") / "bad.csv").rename(fleet.source / "broken.csv")
    assert "failed: bad: " in shown
    assert "0 events in 0 of 0 series" in shown


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["fit", "missing", "--out", "x"], "name a folder"),
        (["score", "missing", "--models", "m", "--out", "x"], "name a folder"),
        (["fit", "--out", "x"], "name the series and --out, or --config"),
    ],
)
def test_bad_input_names_the_remedy(
    capsys: pytest.CaptureFixture[str], arguments: list[str], remedy: str
) -> None:
    assert remedy in run(capsys, *arguments, code=2)


def test_a_fleet_is_fitted_again_shown_taken_over_and_taken_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caps.jobs.open_engine", lambda *_, **__: InlineEngine())
    pd.concat([frame_of(0).assign(host="a"), frame_of(1).assign(host="b")]).to_csv("all.csv")
    options = ["all.csv", "--id", "host", "--columns", "load"]
    run(capsys, "fit", *options, "--train", TRAIN, "--alarms", "1/day", "--out", "fleet")
    again = ["refit", *options, "--models", "fleet"]
    assert "0 of 2 models fitted again" in run(capsys, *again, "--every", "7d")
    waiting = json.loads(run(capsys, *again, "--review", "--json"))
    assert [each["version"] for each in waiting["series"]] == ["v2", "v2"]
    stores = [Store(f"fleet/models/{name}") for name in "ab"]
    assert [each.current.name for each in stores] == ["v1", "v1"]
    assert "asked for" in run(capsys, *again)
    assert [each.current.name for each in stores] == ["v3", "v3"]
    changes = [each.audit()[-1]["change"] for each in stores]
    assert all(change["lost"] for change in changes)  # it learned from the jump
    with pytest.raises(SystemExit):
        main(["model", "rollback", "fleet/models/a", "fleet/models/b", "fleet"])
    assert "fleet: as it was" in capsys.readouterr().out
    assert [each.current.name for each in stores] == ["v1", "v1"]
    # Fitted anew with other options, it is another version.
    run(capsys, "fit", *options, "--train", TRAIN - 20, "--out", "fleet")
    assert [each.current.name for each in stores] == ["v4", "v4"]
