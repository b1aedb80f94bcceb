"""The API as a client meets it: upload, fit, score, events, budget, report, delete."""

import io
import re
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from running_service import (
    LEVEL,
    ROWS,
    TRAIN,
    answering,
    broken_table,
    csv_of,
    listening,
    settings,
    wait_for_fit,
)

from caps import CAPS
from patience import PATIENCE


def saved_model(folder: Path, name: str = "pump") -> CAPS:
    (found,) = (folder / "models" / name).glob("fit-*/model")
    return CAPS.load(found)


def sent(frame: pd.DataFrame) -> dict[str, object]:
    values = frame[["load", "heat"]].astype(object).where(frame[["load", "heat"]].notna(), None)
    return {
        "columns": {name: values[name].tolist() for name in values},
        "time": [str(time) for time in frame["time"]],
    }


def test_a_model_tells_what_it_learned_from(client: httpx.Client) -> None:
    facts = client.get("/v1/models/pump").json()
    assert facts["columns"] == ["load", "heat"]
    assert facts["train"] == [0, TRAIN]
    assert facts["alarms"] == "1/day"
    assert facts["seconds"] > 0
    assert facts in client.get("/v1/models").json()


def test_a_part_of_a_series_is_proposed(client: httpx.Client) -> None:
    for channels in ({}, {"channels": ["heat"]}):
        proposed = client.get("/v1/series/pump/training", params=channels).json()
        assert (proposed["start"], proposed["end"]) == (0, ROWS // 2)
        assert proposed["extent"][0] < proposed["extent"][1]
        assert proposed["why"] == ""
    assert client.get("/v1/series/nothing/training").status_code == 404


def test_a_fit_without_a_part_takes_the_one_that_is_proposed(tmp_path: Path, weights: Path) -> None:
    request = {"series": "pump", "columns": ["heat"], "detector": None}
    with (
        listening(settings(tmp_path, weights)) as address,
        httpx.Client(base_url=address, timeout=PATIENCE) as client,
    ):
        client.post("/v1/series?name=pump", content=csv_of(broken_table()))
        for more, end in (({}, ROWS // 2), ({"train": "all", "replace": True}, ROWS)):
            assert client.put("/v1/models/pump", json=request | more).status_code == 202
            facts = wait_for_fit(client, "pump")
            assert facts["train"] == [0, end]
            assert client.get("/v1/models/pump/events").json()["train"] == [0, end]
            said, _, remedy = facts["learned"].partition(": ")
            assert said.removeprefix("learned from ") in client.get("/v1/models/pump/report").text
            assert remedy == ("" if more else "give 'train' to choose another part")


def test_scores_are_those_of_the_saved_model(client: httpx.Client, folder: Path) -> None:
    table = broken_table().iloc[:1000]
    answer = client.post("/v1/models/pump/score", json=sent(table)).json()
    expected = saved_model(folder).analyze(table)
    assert np.allclose(answer["score"], expected.score)
    assert answer["flag"] == expected.flag.tolist()
    assert answer["bands"] is None
    answer = client.post("/v1/models/pump/score", json=sent(table) | {"bands": True}).json()
    for column, name in enumerate(("load", "heat")):
        for what, values in expected.band._asdict().items():
            found = np.array(answer["bands"][name][what], dtype=float)
            assert np.allclose(found, values[:, column], equal_nan=True)
    assert answer["threshold"] == expected.threshold
    assert len(answer["events"]) == len(expected.events)


def test_events_are_explained_with_their_counterpart(client: httpx.Client) -> None:
    found = client.get("/v1/models/pump/events").json()
    assert found["train"] == [0, TRAIN]
    (event,) = (
        each
        for each in found["events"]
        if each["start_row"] < LEVEL.stop and each["end_row"] > LEVEL.start
    )
    assert event["start"].startswith("2024-03-0")
    explained = client.get(f"/v1/models/pump/events/{event['number']}").json()
    assert explained["channels"][0]["name"] == event["channel"]
    (view,) = (each for each in explained["channels"] if each["name"] == "load")
    assert view["direction"] == "up"
    inside = [value for value in view["counterpart"] if value is not None]
    assert len(inside) == event["end_row"] - event["start_row"]
    assert np.mean(inside) < np.nanmax(np.array(view["values"], dtype=float))


def test_an_explanation_holds_the_nearest_subsequence_of_the_past(
    client: httpx.Client, folder: Path
) -> None:
    found = client.get("/v1/models/pump/events").json()
    analysis = saved_model(folder).analyze(broken_table())
    for event in found["events"]:
        nearest = client.get(f"/v1/models/pump/events/{event['number']}").json()["nearest"]
        expected = analysis.explain(event["number"]).nearest
        if expected is None:
            assert nearest is None
            continue
        assert (nearest["channel"], nearest["start"], nearest["end"]) == (
            expected.channel, expected.start, expected.end,
        )  # fmt: skip
        assert nearest["rows"] == expected.rows.tolist()
        assert len(nearest["x"]) == len(nearest["values"]) == len(nearest["rows"])
        assert np.isclose(nearest["distance"], expected.distance)
        assert np.isclose(nearest["times"], expected.times)
        assert (nearest["start_time"] is None) == (expected.start_time is None)


def test_events_are_numbered_under_a_budget_that_nobody_else_moves(client: httpx.Client) -> None:
    path = "/v1/models/pump/events"
    budgets = client.get("/v1/models/pump/budgets").json()
    generous, strict = budgets[0], budgets[-1]
    before = client.get(path).json()
    mine = client.get(path, params={"alarms": generous["name"]}).json()
    assert mine["alarms"] == generous["name"]
    assert len(mine["events"]) == generous["found"] > strict["found"]
    client.put("/v1/models/pump/alarms", json={"alarms": strict["name"]})  # somebody else
    address = {"alarms": mine["alarms"], "fit": mine["fit"]}
    for event in (mine["events"][0], mine["events"][-1]):
        explained = client.get(f"{path}/{event['number']}", params=address).json()
        assert explained["event"] == event
    assert client.get(path, params={"alarms": generous["name"]}).json() == mine
    table = client.get("/v1/models/pump/events.csv", params=address).text
    assert len(pd.read_csv(io.StringIO(table))) == generous["found"]
    client.put("/v1/models/pump/alarms", json={"alarms": "1/day"})
    assert client.get(path).json() == before
    odd = client.get(path, params={"alarms": "often"})
    assert odd.status_code == 422
    old = client.get(f"{path}/1", params=address | {"fit": "fit-of-yesterday"})
    assert old.status_code == 409
    assert "fitted again" in old.json()["problem"]


def test_another_budget_needs_no_fit_and_is_kept(client: httpx.Client) -> None:
    before = client.get("/v1/models/pump/events").json()
    budgets = client.get("/v1/models/pump/budgets").json()
    assert [each["threshold"] for each in budgets] == sorted(each["threshold"] for each in budgets)
    names = [each["name"] for each in budgets]
    assert names.index("1/hour") < names.index("1/day") < names.index("1/week")
    generous = budgets[0]
    changed = client.put("/v1/models/pump/alarms", json={"alarms": generous["name"]})
    assert changed.json()["alarms"] == generous["name"]
    after = client.get("/v1/models/pump/events").json()
    assert after["threshold"] == generous["threshold"] <= before["threshold"]
    assert len(after["events"]) == generous["found"]
    strict = budgets[-1]
    client.put("/v1/models/pump/alarms", json={"alarms": strict["name"]})
    fewer = client.get("/v1/models/pump/events").json()
    assert fewer["threshold"] == strict["threshold"] > before["threshold"]
    assert len(fewer["events"]) == strict["found"]
    client.put("/v1/models/pump/alarms", json={"alarms": "1/day"})
    assert client.get("/v1/models/pump/events").json() == before


def test_lines_keep_what_stands_out_and_follow_the_zoom(client: httpx.Client) -> None:
    whole = client.get("/v1/series/pump/lines", params={"channels": "load", "points": 50}).json()
    assert whole["rows"] == [0, ROWS]
    (line,) = whole["lines"]
    table = broken_table()
    assert max(value for value in line["y"] if value is not None) == table["load"].max()
    left, right = whole["extent"]
    middle = (left + right) / 2
    part = client.get("/v1/models/pump/lines", params={"left": middle, "right": right}).json()
    assert part["rows"] == [ROWS // 2 - 1, ROWS]
    assert [each["name"] for each in part["lines"]] == ["load", "heat"]
    assert len(part["score"]["x"]) == ROWS // 2 + 1
    usual = part["expected"][0]
    assert (usual["name"], len(usual["x"])) == ("load", len(usual["lower"]))
    assert len(usual["outline"]["x"]) == len(usual["outline"]["y"]) > ROWS
    assert whole["expected"] == []
    few = client.get("/v1/models/pump/lines", params={"points": 2}).json()
    assert len(few["expected"]) == 2
    rows = client.get("/v1/series/pump/rows", params={"left": middle, "right": right}).json()
    assert (rows["start"], rows["end"]) == (ROWS // 2, ROWS)
    assert rows["last"] == "2024-03-09 07:50"


def test_tables_and_report_can_be_downloaded(client: httpx.Client) -> None:
    events = client.get("/v1/models/pump/events").json()["events"]
    answer = client.get("/v1/models/pump/events.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="pump-events.csv"'
    table = pd.read_csv(io.BytesIO(answer.content))
    assert table["start_row"].tolist() == [event["start_row"] for event in events]
    scores = pd.read_csv(io.BytesIO(client.get("/v1/models/pump/scores.csv").content))
    assert len(scores) == ROWS
    assert "expected_load" not in scores
    banded = client.get("/v1/models/pump/scores.csv", params={"bands": True})
    banded = pd.read_csv(io.BytesIO(banded.content))
    assert (banded["lower_heat"] <= banded["expected_heat"])[TRAIN:].mean() > 0.9
    report = client.get("/v1/models/pump/report")
    assert "attachment" in report.headers["content-disposition"]
    assert "<title>pump · CAPS report</title>" in report.text


def test_a_model_scores_other_stored_series(client: httpx.Client) -> None:
    other = broken_table(700)
    assert client.post("/v1/series?name=other", content=csv_of(other)).status_code == 201
    found = client.get("/v1/models/pump/events", params={"series": "other"}).json()
    assert found["train"] is None
    assert all(event["end_row"] <= 700 for event in found["events"])
    assert client.delete("/v1/series/other").status_code == 204
    gone = client.get("/v1/models/pump/events", params={"series": "other"})
    assert gone.status_code == 404


def test_a_detector_is_trained_if_a_request_asks_for_it(client: httpx.Client, folder: Path) -> None:
    assert saved_model(folder).detector is None
    request = {"series": "pump", "train": TRAIN, "columns": ["heat"], "detector": "auto"}
    assert client.put("/v1/models/both", json=request).status_code == 202
    assert wait_for_fit(client, "both")["ready"]
    (channel,) = saved_model(folder, "both").fitted_.channels
    assert channel.detector is not None
    assert client.delete("/v1/models/both").status_code == 204


def test_a_fit_with_problems_tells_them_and_leaves_the_model(client: httpx.Client) -> None:
    request = {"series": "pump", "train": TRAIN, "known": [["2030-01-01", "2030-01-02"]]}
    assert client.put("/v1/models/pump", json=request).status_code == 409
    asked = client.put("/v1/models/pump", json=request | {"replace": True})
    assert asked.status_code == 202
    assert client.put("/v1/models/pump", json=request | {"replace": True}).status_code == 409
    facts = wait_for_fit(client, "pump")
    assert facts["fit"]["state"] == "failed"
    assert "2030-01-01" in facts["fit"]["problem"]
    assert facts["ready"]
    assert facts["known"] == []
    assert client.get("/v1/models/pump/events").status_code == 200
    assert client.delete("/v1/models/pump/fit").json()["fit"] is None  # forgotten


def test_a_cancelled_fit_leaves_the_model_as_it_was(client: httpx.Client) -> None:
    before = client.get("/v1/models/pump").json() | {"fit": None}
    request = {"series": "pump", "train": TRAIN, "replace": True}
    assert client.put("/v1/models/pump", json=request).status_code == 202
    assert client.delete("/v1/models/pump/fit").json() == before
    assert client.get("/v1/models/pump").json() == before
    assert client.delete("/v1/models/pump/fit").json() == before  # nothing to cancel any more
    assert client.delete("/v1/models/none/fit").status_code == 404


def test_a_first_fit_that_is_cancelled_says_so(tmp_path: Path) -> None:
    with answering(tmp_path) as client:
        client.post("/v1/series?name=pump", content=csv_of(broken_table())).raise_for_status()
        client.put("/v1/models/pump", json={"series": "pump"}).raise_for_status()
        fit = client.delete("/v1/models/pump/fit").json()["fit"]
    assert (fit["state"], fit["problem"]) == ("failed", "the fit was cancelled")


def test_marks_outlive_fits_and_have_their_times(client: httpx.Client) -> None:
    times = broken_table()["time"]
    request = {"series": "pump", "train": TRAIN, "detector": None}
    known = {"known": [[str(times[LEVEL.start]), str(times[LEVEL.stop])]]}
    client.put("/v1/models/marked", json=request | known).raise_for_status()
    assert wait_for_fit(client, "marked")["ready"]
    (mark,) = client.get("/v1/models/marked/marks").json()
    assert (mark["start"], mark["end"]) == (LEVEL.start, LEVEL.stop)
    assert mark["first"] == f"{times[LEVEL.start]:%Y-%m-%d %H:%M}"
    assert mark["extent"][0] < mark["extent"][1]

    spans = [[10, 20], [5, 6]]
    assert client.put("/v1/models/marked/marks", json={"marks": spans}).status_code == 200
    client.put("/v1/models/marked", json=request | {"replace": True}).raise_for_status()
    assert wait_for_fit(client, "marked")["known"] == []
    kept = client.get("/v1/models/marked/marks").json()
    assert [[each["start"], each["end"]] for each in kept] == sorted(spans)
    refused = client.put("/v1/models/marked/marks", json={"marks": [[10, 10**6]]})
    assert refused.status_code == 422
    client.delete("/v1/models/marked")


def test_a_file_is_read_like_the_one_of_the_fit(client: httpx.Client) -> None:
    shuffled = csv_of(broken_table(60).sample(frac=1, random_state=0))
    client.post("/v1/series?name=first&sort=true", content=shuffled).raise_for_status()
    assert client.post("/v1/series?name=second", content=shuffled).status_code == 422
    assert client.post("/v1/series?name=second&like=first", content=shuffled).status_code == 201
    assert client.post("/v1/series?name=third&like=none", content=shuffled).status_code == 404
    for name in ("first", "second"):
        client.delete(f"/v1/series/{name}")


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"skip": ROWS}, "leave some rows"),
        ({"train": 5}, "longer training part"),
        ({"train": "next week"}, "2024-01-31"),
        ({"columns": ["pressure"]}, "load, heat"),
        ({"alarms": "often"}, "1/day"),
        ({"known": [[0, ROWS + 1]]}, "name rows"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_cannot_be_fitted_is_refused_at_once(
    client: httpx.Client, change: dict[str, object], remedy: str
) -> None:
    answer = client.put("/v1/models/new", json={"series": "pump"} | change)
    assert answer.status_code == 422, answer.text
    assert remedy in answer.json()["remedy"]
    assert client.get("/v1/models/new").status_code == 404


def test_operators_see_health_readiness_and_counters(client: httpx.Client) -> None:
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/ready").json() == {"status": "ready"}
    client.get("/v1/models/nothing")
    text = client.get("/metrics").text
    assert 'caps_requests_total{method="GET",route="/v1/models/{name}",status="404"}' in text
    assert re.search(r"^caps_models [1-9]", text, re.MULTILINE)
    assert re.search(r'^caps_fits_total{outcome="fitted"} [1-9]', text, re.MULTILINE)


def test_streams_score_as_rows_come_and_go_on_after_a_restart(
    tmp_path: Path, weights: Path
) -> None:
    table = broken_table()
    chosen = settings(tmp_path, weights)
    updates = []

    def feed(client: httpx.Client, rows: pd.DataFrame) -> None:
        answer = client.post("/v1/models/live/streams/a", json=sent(rows) | {"bands": True})
        assert answer.status_code == 200, answer.text
        updates.append(answer.json())

    with listening(chosen) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        client.post("/v1/series?name=live", content=csv_of(table))
        asked = {"series": "live", "train": TRAIN, "columns": ["load", "heat"]}
        client.put("/v1/models/live", json={**asked, "causal": True, "switches": True})
        assert client.post("/v1/models/live/streams/a", json=sent(table)).status_code == 409
        assert wait_for_fit(client, "live")["ready"]
        assert saved_model(tmp_path, "live").get_params()["switches"]
        feed(client, table.iloc[900:1060])
        feed(client, table.iloc[[1059, 1060]])
    with listening(chosen) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        feed(client, table.iloc[1061:1200])
        ahead = sent(table.iloc[[1199]]) | {"time": ["2093-01-01T00:00:00"]}
        answer = client.post("/v1/models/live/streams/a", json=ahead).json()
        assert (answer["score"], answer["held"], answer["refused"]) == ([], 1, {})
        last = client.delete("/v1/models/live/streams/a")
        assert last.status_code == 200
        assert client.delete("/v1/models/live/streams/a").status_code == 404
        asked = sent(table.iloc[900:]) | {"bands": True}
        whole = client.post("/v1/models/live/score", json=asked).json()
    scores = [score for update in updates for score in update["score"]]
    assert np.allclose(scores, whole["score"], atol=1e-6)
    upper = [each for update in updates for each in update["bands"]["load"]["upper"]]
    expected = np.array(whole["bands"]["load"]["upper"], dtype=float)
    assert np.allclose(np.array(upper, dtype=float), expected, equal_nan=True)
    assert updates[1]["counts"]["duplicate"] == 1
    assert updates[1]["refused"] == {"duplicate": 1}
    assert last.json()["refused"] == {"ahead": 1}
    changes = [each for update in [*updates, last.json()] for each in update["changes"]]
    closed = [(each["start_row"], each["end_row"]) for each in changes if each["what"] == "closed"]
    assert closed == [(each["start_row"], each["end_row"]) for each in whole["events"]]


def test_a_model_that_looks_at_both_sides_has_no_streams(client: httpx.Client) -> None:
    answer = client.post("/v1/models/pump/streams/a", json=sent(broken_table().iloc[:3]))
    assert answer.status_code == 422
    assert "causal" in answer.json()["remedy"]


def test_a_label_is_left_out_of_an_upload_unless_it_is_named(client: httpx.Client) -> None:
    text = "load,Label\n" + "".join(f"{row},{row % 2}\n" for row in range(50))
    try:
        uploaded = client.post("/v1/series", params={"name": "labelled"}, content=text).json()
        assert uploaded["channels"] == ["load"]
        assert any("'Label' is called like a label" in note for note in uploaded["notes"])
        named = {"name": "named", "columns": ["load", "Label"]}
        uploaded = client.post("/v1/series", params=named, content=text).json()
        assert uploaded["channels"] == ["load", "Label"]
    finally:
        for name in ("labelled", "named"):
            client.delete(f"/v1/series/{name}")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("time;load\n2024-01-01;1,5\n2024-01-02;2,5\n", {}),
        ('time,load\n2024-01-01,"1,5"\n2024-01-02,"2,5"\n', {"decimal": ","}),
        ("time\tload\n2024-01-01\t1.5\n2024-01-02\t2.5\n", {"delimiter": "tab"}),
        ("time,load\n2024-01-02,2.5\n2024-01-01,1.5\n2024-01-03,3.5\n", {"sort": "true"}),
        ("date,load\n02/01/2024,1.5\n03/01/2024,2.5\n", {"time_format": "%d/%m/%Y"}),
        ("time,load,host\n2024-01-01,1.5,3\n2024-01-02,2.5,4\n", {"exclude": ["host"]}),
        ("time,load\n7,1.5\n3,2.5\n9,1\n", {"no_time": "true", "exclude": ["time"]}),
    ],
)
def test_an_upload_is_read_as_its_fields_say(
    client: httpx.Client, text: str, fields: dict[str, str]
) -> None:
    answer = client.post("/v1/series", params={"name": "written", **fields}, content=text)
    try:
        assert answer.status_code == 201, answer.text
        assert answer.json()["channels"] == ["load"]
        lines = client.get("/v1/series/written/lines").json()["lines"]
        assert lines[0]["y"][:2] == [1.5, 2.5]
    finally:
        client.delete("/v1/series/written")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("time,load\n2024-01-02,2\n2024-01-01,1\n2024-01-03,3\n", "'sort'"),
        ('time,load\n2024-01-01,"1,000"\n2024-01-02,"2,000"\n', "'thousands' , if 1,000 is 1000"),
        ("date,load\n02/01/2024,1.5\n03/01/2024,2.5\n", "'time format'"),
        ("time,id,load\n1,a,1\n1,b,2\n2,a,1\n2,b,3\n", "upload each series as a file of its own"),
    ],
)
def test_a_refused_upload_names_fields_and_no_keywords(
    client: httpx.Client, text: str, named: str
) -> None:
    answer = client.post("/v1/series", params={"name": "refused"}, content=text)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["remedy"]
    assert not re.search(r"\w=|--", answer.json()["problem"] + answer.json()["remedy"])
