"""`caps feedback`, `caps model` and `--planned`: what they say, keep and take back."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from caps import CAPS
from caps.cli.main import main
from caps.store import Store
from recurring_series import BACKUPS, DAY, INCIDENT, TRAIN, backup, recurring

Run = Callable[..., str]
DAYS = sorted([*BACKUPS, INCIDENT.start // DAY])


@pytest.fixture(scope="module")
def fitted() -> tuple[CAPS, CAPS]:
    """A model in hindsight and a live one."""
    frame = recurring()
    one, live = (CAPS(train=TRAIN, alarms="1/week", causal=causal) for causal in (False, True))
    return one.fit(frame), live.fit(frame)


@pytest.fixture
def run(
    fitted: tuple[CAPS, CAPS],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command beside models and files of them; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    for model, name in zip(fitted, ("model", "live"), strict=True):
        model.save(name)
    recurring().to_csv("metrics.csv", index=False)
    recurring()[TRAIN:].to_csv("new.csv", index=False)

    def command(*arguments: str, code: int = 0) -> str:
        ended: object = 0
        try:
            main([*map(str, arguments)])
        except SystemExit as stop:
            ended = stop.code
        shown = capsys.readouterr()
        assert ended == code, shown.err
        return shown.out if not code else shown.err

    return command


def days(run: Run, *more: str) -> list[int]:
    """Days with an alarm."""
    found = json.loads(run("events", "model", "metrics.csv", "--json", *more))
    return [each["peak_row"] // DAY for each in found if each["alarm"]]


def lines(shown: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown.splitlines()]


def test_an_event_is_dismissed_and_revoked(run: Run) -> None:
    moment = str(recurring()["time"][backup(13).start + 2])
    assert days(run) == DAYS
    tried = run("feedback", "dismiss", "model", "metrics.csv", moment, "--dry-run")
    assert tried.startswith("not taken: this was a dry run\n4 alarms lost, 0 gained, 1 kept")
    assert days(run) == DAYS
    said = run("feedback", "dismiss", "model", "metrics.csv", "1", "--note", "backup")
    assert said.startswith("f1 no incident, 2024-03-14 05:00:00, 10 rows: backup\n4 alarms lost")
    assert days(run) == [INCIDENT.start // DAY]
    assert "4 more silenced by feedback" in run("events", "model", "metrics.csv")
    assert run("feedback", "list", "model").startswith("f1 no incident")
    back = json.loads(run("feedback", "revoke", "model", "f1", "metrics.csv", "--json"))
    assert (len(back["change"]["gained"]), back["feedback"]["id"]) == (4, "f1")
    assert days(run) == DAYS
    assert "name one of: none so far" in run("feedback", "revoke", "model", "f1", code=2)
    nowhere = run("feedback", "dismiss", "model", "metrics.csv", "2024-03-02", code=2)
    assert "no event covers 2024-03-02" in nowhere


def test_a_confirmed_incident_names_those_like_it(run: Run) -> None:
    run("feedback", "confirm", "model", "metrics.csv", "1", "--kind", "disk full")
    found = json.loads(run("events", "model", "metrics.csv", "--json"))
    kinds = {each["peak_row"] // DAY: each["kind"] for each in found}
    assert {day for day, kind in kinds.items() if kind == "disk full"} == set(BACKUPS)


def test_planned_events_are_told_apart(run: Run) -> None:
    plan = '[[planned]]\nname = "backup"\nweekly = "daily"\nfrom = "04:00"\nto = "08:30"\n'
    Path("planned.toml").write_text(plan)
    assert days(run, "--planned", "planned.toml") == [INCIDENT.start // DAY]
    shown = run("events", "model", "metrics.csv", "--planned", "planned.toml")
    assert "4 more planned" in shown
    Path("planned.toml").write_text(plan + 'series = "db-*"\n')
    assert days(run, "--planned", "planned.toml") == DAYS
    Path("planned.toml").write_text(plan.replace("daily", "dayly"))
    refused = run("events", "model", "metrics.csv", "--planned", "planned.toml", code=2)
    assert 'planned.toml: planned event 1 ("backup")' in refused


def test_a_watch_prints_silenced_events_and_alerts_of_none(run: Run) -> None:
    before = lines(run("watch", "live", "--input", "new.csv"))
    moment = str(recurring()["time"][backup(13).start + 2])
    run("feedback", "dismiss", "live", "metrics.csv", moment)
    after = lines(run("watch", "live", "--input", "new.csv"))
    first = str(recurring()["time"][backup(13).start]).replace(" ", "T") + "Z"
    (was,) = [each for each in before if each["id"] == f":{first}:opened"]
    (silent,) = [each for each in after if each["id"] == f":{first}:opened silenced"]
    assert (was["alert"], was["silenced_by"]) == (True, None)
    assert (silent["alert"], silent["incident"], silent["silenced_by"]) == (False, None, "f1")
    incident = [each for each in after if each.get("alert") and "-17T" in each["start"]]
    assert len(incident) == 1
    assert sum(each.get("alert", False) for each in after) < sum(
        each.get("alert", False) for each in before
    )
    # Every incident ends, and no end is told of what was silent.
    begun = [each["incident"] for each in after if each.get("alert")]
    over = [each["incident"] for each in after if each["what"] == "recovered"]
    assert set(over) <= set(begun)


def test_a_watch_goes_on_by_the_version_that_was_promoted(run: Run) -> None:
    run("model", "refit", "versions", "metrics.csv", "--base", "live", "--train", str(TRAIN))
    run("watch", "versions", "--input", "new.csv", "--state", "state")
    run("model", "refit", "versions", "metrics.csv", "--promote")
    with Path("new.csv").open("a") as file:
        file.write("2024-03-21 00:00:00,5.0\n")
    summary = lines(run("watch", "versions", "--input", "new.csv", "--state", "state", "--json"))
    assert summary[-1]["rows"] == len(recurring()) - TRAIN + 1


def test_versions_are_listed_compared_and_taken_back(run: Run) -> None:
    first = run("model", "refit", "versions", "metrics.csv", "--base", "model")
    assert first.startswith("v1 ")
    assert "in force" in first
    assert "no refit is due" in run("model", "refit", "versions", "metrics.csv", "--every", "7d")
    second = run("model", "refit", "versions", "metrics.csv", "--train", str(TRAIN))
    assert "put it in force with: caps model promote versions v2" in second
    change = json.loads(run("model", "compare", "versions", "metrics.csv", "v2", "--json"))
    assert (change["old"], change["new"]) == ("v1", "v2")
    assert change["gained"]
    run("model", "promote", "versions", "v2")
    assert run("model", "list", "versions").splitlines()[1].startswith("* v2")
    assert run("model", "rollback", "versions") == "v1 is in force again\n"
    audit = run("model", "list", "versions", "--audit")
    assert [line.split()[1] for line in audit.splitlines()] == [
        "added",
        "added",
        "promoted",
        "rolled",
    ]
    assert "holds no versions" in run("model", "list", "model", code=2)
    assert "give one such as 30s, 5m, 6h or 7d" in run(
        "model", "refit", "versions", "metrics.csv", "--every", "soon", code=2
    )


def test_feedback_on_versions_is_noted_in_the_audit(run: Run) -> None:
    run("model", "refit", "versions", "metrics.csv", "--base", "model", "--train", str(TRAIN))
    run("feedback", "dismiss", "versions", "metrics.csv", "1", "--note", "backup")
    run("feedback", "revoke", "versions", "f1")
    audit = Store("versions").audit()
    assert [(each["what"], each.get("id")) for each in audit[1:]] == [
        ("feedback", "f1"),
        ("revoked", "f1"),
    ]
    assert os.path.exists("versions/feedback.json")


@pytest.mark.slow
def test_a_fleet_has_planned_events_and_counts_alarms(run: Run) -> None:
    Path("all").mkdir()
    for name in ("db-1", "web"):
        recurring().to_csv(f"all/{name}.csv", index=False)
    plan = '[[planned]]\nname = "backup"\nweekly = "daily"\nfrom = "04:00"\nto = "08:30"\n'
    Path("planned.toml").write_text(f'{plan}series = ["db-*"]\n')
    options = ("--train", str(TRAIN), "--alarms", "1/week", "--workers", "1")
    run("fleet", "fit", "all", *options, "--out", "fleet", "--json")
    score = ("--models", "fleet", "--workers", "1", "--planned", "planned.toml")
    run("fleet", "score", "all", *score, "--out", "scored", "--json")
    table = pd.read_parquet("scored/series.parquet").set_index("series")
    assert table["events"].to_dict() == {"db-1": 1, "web": 5}
    assert table["silenced"].to_dict() == {"db-1": 4, "web": 0}
