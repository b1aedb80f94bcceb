"""A range chosen in the middle of a file: its incidents are found however the file is scored."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pandas as pd
import pytest
from running_service import csv_of, listening, settings, wait_for_fit

from caps.cli.main import main
from incident_file import FIRST, INCIDENTS, LAST, WAYS, incident_frame, incidents_found, scored_in
from patience import PATIENCE, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Iterator[httpx.Client]:
    """A service with the file in five ways, and a model of its middle."""
    folder = tmp_path_factory.mktemp("ways")
    with (
        listening(settings(folder, weights)) as address,
        httpx.Client(base_url=address, timeout=PATIENCE) as client,
    ):
        for way in WAYS:
            content = csv_of(scored_in(way, incident_frame()))
            name = way.replace(" ", "-")
            assert client.post(f"/v1/series?name={name}", content=content).status_code == 201
        asked = {"series": "from-the-start", "skip": FIRST, "train": LAST - FIRST}
        assert client.put("/v1/models/middle", json=asked).status_code == 202
        assert wait_for_fit(client, "middle")["ready"]
        (model,) = (folder / "models" / "middle").glob("fit-*/model")
        client.headers["x-model"] = str(model)
        yield client


@pytest.mark.parametrize("way", WAYS)
def test_the_service_finds_them(service: httpx.Client, way: str) -> None:
    asked = {"series": way.replace(" ", "-")}
    found = service.get("/v1/models/middle/events", params=asked).json()
    spans = [(event["start_row"], event["end_row"]) for event in found["events"]]
    assert incidents_found(way, spans) == len(INCIDENTS)


@pytest.mark.parametrize("way", WAYS)
def test_caps_score_finds_them(service: httpx.Client, way: str, tmp_path: Path) -> None:
    file, out = tmp_path / "file.csv", tmp_path / "scores.csv"
    file.write_bytes(csv_of(scored_in(way, incident_frame())))
    with pytest.raises(SystemExit) as stop:
        main(["score", service.headers["x-model"], str(file), "--out", str(out)])
    assert stop.value.code == 0
    events = pd.read_csv(out)["event"]
    spans = [
        (int(rows.index[0]), int(rows.index[-1]) + 1)
        for _, rows in events[events > 0].groupby(events)
    ]
    assert incidents_found(way, spans) == len(INCIDENTS)


@pytest.mark.slow
def test_the_page_shows_them(service: httpx.Client, browser: "Browser") -> None:
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{service.base_url}#/models/middle")
    drawn = "document.querySelector('.chart')?.layout?.shapes?.some(({ name }) => name === 'event')"
    until(page, lambda: page.evaluate(f"!!{drawn}"))
    bands = page.evaluate(
        "document.querySelector('.chart').layout.shapes.filter((shape) => shape.name === 'event')"
        ".map((shape) => [shape.x0, shape.x1])"
    )
    times = incident_frame()["time"]
    spans = [(int((times < left).sum()), int((times <= right).sum())) for left, right in bands]
    page.close()
    assert incidents_found("from the start", spans) == len(INCIDENTS)
