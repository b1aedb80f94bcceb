"""One record of an event behind every output: they agree, and leave out what they always did."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps import ArtifactError, InputError, detect
from caps.cli.results import event_facts
from caps.events import Analysis, EventConfig, Explanation, event_table
from caps.fleet.tables import COLUMNS, event_columns
from caps.report.content import event_card
from caps.series import ReadOptions
from caps.serve.found import events_of
from caps.serve.lines import Axis
from handmade_analysis import analysed, daily

FOUND, TRUE, PEAK = slice(1300, 1490), slice(1380, 1410), 1395


def two_channels(*, timed: bool = True) -> Analysis:
    values = daily(2000)
    values[TRUE] += 4
    frame = pd.DataFrame({"load": values, "heat": daily(2000, seed=1)})
    if timed:
        frame.index = pd.date_range("2024-05-01", periods=2000, freq="10min", tz="Europe/Berlin")
    return analysed(frame, {"load": FOUND}, odd=TRUE)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return two_channels()


@pytest.fixture(scope="module")
def event(analysis: Analysis) -> Explanation:
    return analysis.explain(1)


def test_the_record_holds_rows_times_and_shares(analysis: Analysis, event: Explanation) -> None:
    time = analysis.series.time
    assert time is not None
    assert event.to_dict() == {
        "event": 1,
        "start_row": TRUE.start,
        "end_row": TRUE.stop,
        "peak_row": PEAK,
        "start": str(time[TRUE.start]),
        "end": str(time[TRUE.stop - 1]),
        "peak": str(time[PEAK]),
        "score": analysis.score[PEAK],
        "p_value": event.p_value,
        "severity": "high",
        "kind": None,
        "kind_scores": {},
        "direction": "up",
        "size": event.size,
        "channel": "load",
        "contributions": {"load": event.contributions["load"], "heat": event.contributions["heat"]},
        "reason": event.reason,
        "alarm": True,
        "silenced": None,
        "silenced_by": None,
    }
    assert list(event.contributions) == ["load", "heat"]
    assert sum(event.contributions.values()) == pytest.approx(1)
    assert event.reason.startswith("An anomaly in load: on average ")
    assert event.p_value == float(analysis.fitted.calibration.event_p_values(event.score))
    beside = np.r_[TRUE.start - 60 : TRUE.start - 4, TRUE.stop + 4 : TRUE.stop + 60]
    spread = analysis.series.values[beside, 0].std()
    assert event.size == pytest.approx(4 / spread, rel=0.1)


def outputs(analysis: Analysis, event: Explanation) -> dict[str, dict[str, Any]]:
    """The first event as five outputs give it; streams are compared with the batch elsewhere."""
    table = event_table(analysis, [event])
    (answer,) = events_of(analysis, Axis(analysis.series))
    columns = event_columns("pump", [event])
    card = event_card(event)
    return {
        "table": {name: table[name][0] for name in table},
        "command": event_facts(event),
        "fleet": {name: column[0] for name, column in columns.items()},
        "service": answer.model_dump() | {"event": answer.number},
        "report": card.to_dict(),
    }


def test_all_outputs_agree(analysis: Analysis, event: Explanation) -> None:
    facts = event.to_dict()
    for name, output in outputs(analysis, event).items():
        shared = set(output) & set(facts) - {"start", "end", "peak"}
        assert {"event", "start_row", "end_row", "score", "p_value"} <= shared, name
        assert {key: output[key] for key in shared} == {key: facts[key] for key in shared}, name


def test_every_output_writes_times_as_it_always_did(analysis: Analysis, event: Explanation) -> None:
    found = outputs(analysis, event)
    local = pd.date_range("2024-05-01", periods=2000, freq="10min", tz="Europe/Berlin")
    rows = {"start": TRUE.start, "end": TRUE.stop - 1, "peak": PEAK}
    for name, row in rows.items():
        utc = local[row].tz_convert("UTC").tz_localize(None)
        assert found["table"][name] == local[row]
        assert found["command"][name] == utc.isoformat()
        assert found["fleet"][name] == np.datetime64(utc, "us")
        assert found["service"][name] == local[row].strftime("%Y-%m-%d %H:%M")


def test_events_of_a_file_have_the_clock_of_its_scores(tmp_path: Path) -> None:
    wave = np.sin(np.arange(600) / 8) + 0.1 * np.random.default_rng(0).standard_normal(600)
    wave[500:504] += 4
    times = pd.date_range("2024-05-01", periods=600, freq="10min")
    pd.DataFrame({"time": times, "load": wave}).to_csv(tmp_path / "load.csv", index=False)
    reading = ReadOptions(timezone="Europe/Berlin")
    found = detect(tmp_path / "load.csv", train=400, detector=None, reading=reading)
    event = next(each for each in found.analysis.events if each.start < 504 <= each.end)
    row = found.events.iloc[event.number - 1]
    for name, at in (("start", event.start), ("end", event.end - 1), ("peak", event.peak)):
        assert str(row[name]) == str(found.scores["time"][at])
        assert str(row[name]).endswith("+02:00")


def test_outputs_have_their_keys(analysis: Analysis, event: Explanation) -> None:
    found = outputs(analysis, event)
    assert list(found["table"]) == [
        "event", "start", "end", "peak", "start_row", "end_row", "score", "p_value", "severity",
        "kind", "direction", "size", "channel", "alarm", "silenced", "silenced_by",
        "contribution_load", "contribution_heat",
    ]  # fmt: skip
    assert list(found["command"]) == [
        "event", "start_row", "end_row", "peak_row", "start", "end", "peak", "score", "p_value",
        "severity", "kind", "direction", "size", "contributions", "reason", "alarm", "silenced",
        "silenced_by",
    ]  # fmt: skip
    assert list(found["fleet"]) == list(COLUMNS["events"])
    assert found["fleet"]["series"] == "pump"


def test_without_times_the_command_gives_rows_only() -> None:
    event = two_channels(timed=False).explain(1)
    assert not {"start", "end", "peak"} & set(event_facts(event))
    assert json.loads(json.dumps(event_facts(event)))["start_row"] == TRUE.start
    assert event_columns("pump", [event])["start"] == [None]


def test_another_configuration_explains_the_same_events_otherwise() -> None:
    brief = EventConfig(most_channels=1)
    loose = two_channels()
    analysis = Analysis(
        *(loose.series, loose.grid, loose.rows, loose.fitted, loose.scores, 0.9, loose.rules),
        config=brief,
    )
    assert analysis.events == loose.events
    assert len(loose.explain(1).channels) == 2
    assert len(analysis.explain(1).channels) == 1


def test_the_configuration_survives_json() -> None:
    config = EventConfig(certain=0.9, support_shares=(0.2, 0.4))
    assert EventConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(ArtifactError, match="certainty"):
        EventConfig.from_dict(config.to_dict() | {"certainty": 1.0})
    with pytest.raises(InputError, match="support_closing"):
        EventConfig(support_closing=-7)
