"""Feedback, planned events and versions over HTTP and on the page."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from running_service import csv_of, listening, settings, wait_for_fit

from patience import PATIENCE, until, wait_until
from recurring_series import BACKUPS, DAY, INCIDENT, TRAIN, backup, recurring
from watched_pages import Open, watched_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MODEL = "/v1/models/disk"
PLANNED = {"planned": [{"name": "move", "start": "2024-03-17 14:00", "end": "2024-03-17 22:00"}]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("feedback")


@pytest.fixture(scope="module")
def judged(place: Path) -> Iterator[str]:
    """A service with a model of the recurring series, which the tests leave as it was."""
    chosen = settings(place / "service", place, pretrained=None, planned=place / "planned.json")
    with listening(chosen) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        sent = client.post("/v1/series?name=disk&file=disk.csv", content=csv_of(recurring()))
        assert sent.status_code == 201, sent.text
        request = {"series": "disk", "train": TRAIN, "alarms": "1/week"}
        assert client.put(MODEL, json=request).status_code == 202
        assert wait_for_fit(client, "disk")["ready"]
        yield address


@pytest.fixture
def client(judged: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=judged, timeout=PATIENCE) as client:
        yield client
        for each in client.get(f"{MODEL}/feedback").json():
            if each["revoked"] is None:
                client.delete(f"{MODEL}/feedback/{each['id']}")


@pytest.fixture
def opened(browser: "Browser", judged: str) -> Iterator[Open]:
    with watched_pages(browser) as open_page:
        own = (judged, "blob:", "data:")
        yield lambda **options: open_page(f"{judged}/#/models/disk", own, **options)


def events(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{MODEL}/events").json()["events"]
    return found


def alarms(client: httpx.Client) -> list[int]:
    """Days with an alarm."""
    return [each["peak_row"] // DAY for each in events(client) if each["alarm"]]


def first_backup(client: httpx.Client) -> dict[str, Any]:
    rows = backup(min(BACKUPS))
    return next(each for each in events(client) if rows.start <= each["peak_row"] < rows.stop)


def test_a_dismissed_pattern_no_longer_alarms_until_it_is_revoked(client: httpx.Client) -> None:
    before = alarms(client)
    assert before == sorted([*BACKUPS, INCIDENT.start // DAY])
    said = {"event": first_backup(client)["number"], "verdict": "normal", "note": "backup"}

    tried = client.post(f"{MODEL}/feedback", json=said | {"dry_run": True}).json()
    assert (tried["taken"], len(tried["change"]["lost"])) == (False, len(BACKUPS))
    assert alarms(client) == before

    taken = client.post(f"{MODEL}/feedback", json=said).json()
    name = taken["feedback"]["id"]
    assert (taken["taken"], taken["change"]) == (True, tried["change"])
    assert alarms(client) == [INCIDENT.start // DAY]
    silent = first_backup(client)
    assert (silent["silenced"], silent["silenced_by"]) == ("feedback", name)
    explained = client.get(f"{MODEL}/events/{silent['number']}").json()
    assert f'feedback {name}: "backup"' in explained["reason"]
    assert f",feedback,{name}" in client.get(f"{MODEL}/events.csv").text
    found = client.get(f"{MODEL}/budgets").json()
    assert next(each for each in found if each["name"] == "1/week")["found"] == 1

    back = client.delete(f"{MODEL}/feedback/{name}").json()
    assert len(back["change"]["gained"]) == len(BACKUPS)
    assert alarms(client) == before
    assert client.get(f"{MODEL}/feedback").json()[-1]["revoked"] is not None
    assert client.delete(f"{MODEL}/feedback/{name}").status_code == 404


def test_a_confirmed_incident_names_the_kind_of_those_like_it(client: httpx.Client) -> None:
    number = first_backup(client)["number"]
    said = {"event": number, "verdict": "incident", "kind": "disk full"}
    assert client.post(f"{MODEL}/feedback", json=said).status_code == 200
    kinds = {
        each["peak_row"] // DAY: client.get(f"{MODEL}/events/{each['number']}").json()["kind"]
        for each in events(client)
    }
    assert {day for day, kind in kinds.items() if kind == "disk full"} == set(BACKUPS)
    assert client.post(f"{MODEL}/feedback", json=said | {"event": 99}).status_code == 422
    odd = said | {"verdict": "normal"}
    assert "leave the kind out" in client.post(f"{MODEL}/feedback", json=odd).json()["remedy"]


def test_planned_events_are_told_apart_as_soon_as_the_file_says_so(
    client: httpx.Client, place: Path
) -> None:
    file, before = place / "planned.json", alarms(client)
    file.write_text(json.dumps(PLANNED))
    answer = client.get(f"{MODEL}/events").json()
    (planned,) = answer["planned"]
    assert planned["name"] == "move"
    (silent,) = [each for each in answer["events"] if not each["alarm"]]
    assert (silent["silenced"], silent["silenced_by"]) == ("planned", "move")
    assert INCIDENT.start <= silent["peak_row"] < INCIDENT.stop
    report = client.get(f"{MODEL}/report").text
    assert "it lies within the planned event" in report
    file.write_text('{"planned": []}')
    assert alarms(client) == before


def test_a_new_fit_is_compared_before_it_takes_over_and_taken_back(client: httpx.Client) -> None:
    (first,) = client.get(f"{MODEL}/versions").json()
    request = {"series": "disk", "train": "all", "replace": True, "review": True}
    assert client.put(MODEL, json=request).status_code == 202
    wait_for_fit(client, "disk")
    old, new = sorted(client.get(f"{MODEL}/versions").json(), key=lambda each: not each["in_force"])
    assert (old["fit"], new["in_force"]) == (first["fit"], False)
    assert old["data"] is not None
    change = client.get(f"{MODEL}/versions/{new['fit']}/changes").json()
    assert change["lost"] or change["gained"]
    # A budget that is asked for holds for both: a fit beside itself gains and loses nothing.
    same = client.get(f"{MODEL}/versions/{old['fit']}/changes", params={"alarms": "1/50"}).json()
    assert (same["lost"], same["gained"]) == ([], [])
    before = alarms(client)
    client.put(f"{MODEL}/versions", json={"fit": new["fit"]}).raise_for_status()
    assert len(alarms(client)) == len(before) - len(change["lost"]) + len(change["gained"])
    listed = client.put(f"{MODEL}/versions", json={"fit": old["fit"]}).json()
    assert [each["fit"] for each in listed if each["in_force"]] == [old["fit"]]
    assert alarms(client) == before
    assert client.put(f"{MODEL}/versions", json={"fit": "fit-0"}).status_code == 404


def test_every_change_is_in_the_audit(client: httpx.Client, place: Path) -> None:
    said = {"event": 1, "verdict": "normal"}
    name = client.post(f"{MODEL}/feedback", json=said).json()["feedback"]["id"]
    client.delete(f"{MODEL}/feedback/{name}")
    audit = place / "service" / "models" / "disk" / "audit.jsonl"
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(each["what"], each["id"]) for each in lines[-2:]] == [
        ("feedback", name),
        ("revoked", name),
    ]
    assert lines[0]["what"] == "fitted"


@pytest.mark.slow
def test_a_model_is_fitted_again_by_schedule_when_its_series_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caps.serve.refits.LOOK", 0.05)
    chosen = settings(tmp_path, tmp_path, pretrained=None, estimator={}, refit_every=1e-3)
    with listening(chosen) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:

        def upload(rows: int) -> None:
            sent = client.post("/v1/series?name=disk", content=csv_of(recurring()[:rows]))
            assert sent.status_code == 201, sent.text

        upload(INCIDENT.stop + DAY)
        request = {"series": "disk", "train": TRAIN, "alarms": "1/week"}
        client.put(MODEL, json=request).raise_for_status()
        assert wait_for_fit(client, "disk")["ready"]
        (first,) = client.get(f"{MODEL}/versions").json()
        found = (each for each in events(client) if each["peak_row"] >= INCIDENT.start)
        incident = next(found)
        said = {"event": incident["number"], "verdict": "incident"}
        client.post(f"{MODEL}/feedback", json=said).raise_for_status()
        assert len(client.get(f"{MODEL}/versions").json()) == 1  # nothing new to learn from
        client.delete("/v1/series/disk").raise_for_status()
        upload(len(recurring()))

        def in_force() -> str:
            listed = client.get(f"{MODEL}/versions").json()
            return next(str(each["fit"]) for each in listed if each["in_force"])

        wait_until(lambda: in_force() != first["fit"], "a refit by schedule", every=0.2)
        assert any("1 confirmed incident was kept out" in note for note in notes(client))
        audit = (tmp_path / "models" / "disk" / "audit.jsonl").read_text().splitlines()
        lines = [json.loads(line) for line in audit][-3:]
        whats = [each["what"] for each in lines]
        assert whats == ["fitted, to be looked at", "compared", "put in force"]
        change = lines[1]["change"]
        assert change["rows"] == [0, len(recurring())]
        assert change["kept"] >= 1  # the incident is one still


def notes(client: httpx.Client) -> list[str]:
    return list(client.get(MODEL).json()["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_on_the_page_a_version_is_compared_put_in_force_and_taken_back(
    client: httpx.Client, opened: Open, width: int, shot: Callable[..., None]
) -> None:
    def in_force() -> str:
        listed = client.get(f"{MODEL}/versions").json()
        return next(str(each["fit"]) for each in listed if each["in_force"])

    old, before = in_force(), alarms(client)
    request = {"series": "disk", "train": "all", "replace": True, "review": True}
    assert client.put(MODEL, json=request).status_code == 202
    wait_for_fit(client, "disk")
    new = client.get(f"{MODEL}/versions").json()[-2]["fit"]  # the one in force is the last
    assert new != old
    page = opened(viewport={"width": width, "height": 900})
    rows, versions = page.locator(".event-row"), page.get_by_role("list", name="Versions")
    until(page, lambda: rows.count() == len(before))
    card = page.locator("section.card", has=versions)
    compare = versions.get_by_role("button", name="Compare")
    compare.first.click()  # the newest is the first
    page.get_by_text("If that version took over:").wait_for()
    shot(page, f"versions-compared-{width}")
    card.get_by_role("button", name="Leave it").click()
    assert (page.get_by_text("If that version took over:").count(), in_force()) == (0, old)
    compare.first.click()
    card.get_by_role("button", name="Put in force").click()
    until(page, lambda: in_force() == new and rows.count() != len(before))
    assert "in force" in versions.get_by_role("listitem").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"versions-in-force-{width}")
    previous = versions.get_by_role("listitem").filter(has_text="before")
    previous.get_by_role("button", name="Compare").click()
    card.get_by_role("button", name="Put in force").click()
    until(page, lambda: in_force() == old and rows.count() == len(before))
    assert alarms(client) == before


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_on_the_page_an_event_is_dismissed_and_the_feedback_revoked(
    client: httpx.Client, opened: Open, width: int, shot: Callable[..., None]
) -> None:
    page = opened(viewport={"width": width, "height": 900})
    rows = page.locator(".event-row")
    until(page, lambda: rows.count() == len(BACKUPS) + 1)
    rows.first.click()
    page.get_by_role("button", name="No incident").click()
    page.get_by_text(f"{len(BACKUPS)} alarms fewer").wait_for()
    shot(page, f"preview-{width}")
    page.get_by_label("Note").fill("nightly backup")
    page.get_by_role("button", name="Take it").click()
    until(page, lambda: page.locator(".event-row.silenced").count() == len(BACKUPS))
    assert "4 of them no alarm" in page.locator("h2", has_text="events").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"dismissed-{width}")
    page.get_by_role("list", name="Feedback").get_by_role("button", name="Revoke").last.click()
    until(page, lambda: page.locator(".event-row.silenced").count() == 0)
    assert len(alarms(client)) == len(BACKUPS) + 1


@pytest.fixture
def shot() -> Callable[..., None]:
    """Pictures for a person to look at, where a folder for them is named."""
    folder = os.environ.get("CAPS_PICTURES")

    def take(page: "Page", name: str) -> None:
        if folder:
            page.screenshot(path=f"{folder}/{name}.png", full_page=True)

    return take
