"""The page in a real browser: a person drops a CSV, fits, looks, marks, fits again, takes away."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pandas as pd
import pytest
from running_service import LEVEL, broken_table, csv_of, fit_pump, listening, settings

from patience import until
from watched_pages import DESKTOP, PHONE, Open, watched_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow

CHART = "document.querySelector('.chart')"
THRESHOLD = f"{CHART}?.layout?.shapes?.find((shape) => shape.name === 'threshold')?.y0"


@pytest.fixture
def opened(browser: "Browser", address: str) -> Iterator[Open]:
    with watched_pages(browser) as open_page:
        own = (address, "blob:", "data:")
        yield lambda path="", **options: open_page(f"{address}/{path}", own, **options)


def noted(threshold: float | None, seen: set[float]) -> bool:
    """Whether it is another one than those seen; a chart that is drawn anew has none."""
    if threshold is None or threshold in seen:
        return False
    seen.add(threshold)
    return True


def bands(page: "Page", name: str) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        f"({CHART}?.layout?.shapes ?? []).filter((shape) => shape.name === '{name}')"
        ".map((shape) => [shape.x0, shape.x1])"
    )
    return found


def drag(page: "Page", left: float, right: float) -> None:
    """Drag over a part of the chart, given in shares of its width."""
    box = page.locator(".chart .nsewdrag").first.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + left * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"], middle, steps=6)
    page.mouse.up()


def test_from_a_dropped_file_to_a_refit_and_downloads(
    opened: Open, client: httpx.Client, tmp_path: Path
) -> None:
    page = opened()
    page.locator(".drop").wait_for()
    # A drop as the browser would give it: a file in the event's own data.
    data = page.evaluate_handle(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "My pump.csv", { type: "text/csv" }));
            return data;
        }""",
        csv_of(broken_table()).decode(),
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})

    page.locator(".chart .js-line").first.wait_for()
    assert page.locator("h1").inner_text() == "My pump.csv"
    page.get_by_role("group", name="Columns to learn from").get_by_label("heat").uncheck()
    until(page, lambda: page.locator(".chart .js-line").count() >= 1)
    drag(page, 0.0, 0.75)
    until(page, lambda: "Learn from 90" in page.locator(".summary").inner_text())
    page.get_by_role("button", name="Fit", exact=True).click()

    page.locator(".waiting progress").wait_for()
    page.locator("output").wait_for()
    until(page, lambda: page.evaluate(f"!!{CHART}?.layout?.shapes?.length"))
    assert len(bands(page, "training")) == 1
    times = broken_table()["time"]
    found = bands(page, "event")
    assert any(
        pd.Timestamp(left) < times[LEVEL.stop] and pd.Timestamp(right) > times[LEVEL.start]
        for left, right in found
    )
    assert page.locator(".event-row").count() == len(found)

    # An event tells its reason and shows its counterpart; the keyboard reaches it.
    page.locator(".event-row").last.press("Enter")
    page.locator(".event .reason").wait_for()
    page.locator(".event .js-line").first.wait_for()
    assert page.locator(".event .trace:has(.js-line)").count() == 2
    assert page.locator(".event-row[aria-current]").count() == 1

    until(page, lambda: page.evaluate("document.activeElement.id") == "event")

    # Another budget changes the alarms at once, here only; a button makes it everybody's.
    agreed = client.get("/v1/models/my-pump").json()["alarms"]
    page.get_by_role("button", name="Show everything").click()
    until(page, lambda: pd.Timestamp(page.evaluate(f"{CHART}.layout.xaxis.range[0]")) < times[0])
    slider, output = page.locator("#budget"), page.locator("output")
    seen: set[float] = set()
    for key in ("Home", "End"):
        before = output.inner_text()
        slider.press(key)
        until(page, lambda before=before: output.inner_text() != before)
        alarms = int(re.search(r": ([\d,]+) alarm", output.inner_text())[1].replace(",", ""))
        until(page, lambda alarms=alarms: len(bands(page, "event")) == alarms)
        until(page, lambda alarms=alarms: page.locator(".event-row").count() == alarms)
        until(page, lambda: noted(page.evaluate(THRESHOLD), seen))
    assert len(seen) == 2
    assert client.get("/v1/models/my-pump").json()["alarms"] == agreed
    page.get_by_role("button", name="Use for everyone").click()
    until(
        page,
        lambda: output.inner_text().startswith(
            f"{client.get('/v1/models/my-pump').json()['alarms']}: "
        ),
    )

    # Brushing marks a known anomaly; the refit knows it.
    page.get_by_text("Mark", exact=True).click()
    share = (LEVEL.start - 2) / len(times), (LEVEL.stop + 2) / len(times)
    drag(page, *share)
    page.locator(".marks li").wait_for()
    assert len(bands(page, "known")) == 1
    page.get_by_role("button", name="Fit again with 1 known anomaly").click()
    page.locator(".waiting progress").wait_for()
    page.locator(".waiting").wait_for(state="detached")
    until(page, lambda: "1 known" in page.locator(".head").inner_text())
    until(page, lambda: page.locator(".marks li").count() == 1)  # the mark is still there
    until(page, lambda: len(bands(page, "known")) == 1)

    for button, end in (("Events (CSV)", "events.csv"), ("Report (HTML)", "report.html")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert download.value.suggested_filename == f"my-pump-{end}"
        download.value.save_as(tmp_path / end)
    assert "start_row" in (tmp_path / "events.csv").read_text()
    assert "CAPS report" in (tmp_path / "report.html").read_text()


def test_a_slow_proposal_leaves_what_the_user_chose(opened: Open, client: httpx.Client) -> None:
    assert client.post("/v1/series?name=slow", content=csv_of(broken_table())).status_code == 201
    page = opened()
    held: list[Route] = []
    page.route("**/v1/series/slow/training*", lambda route: held.append(route))
    page.evaluate("location.hash = '#/series/slow'")
    page.locator(".chart .js-line").first.wait_for()
    until(page, lambda: bool(held))
    drag(page, 0.0, 0.75)
    until(page, lambda: "Learn from 90" in page.locator(".summary").inner_text())
    with page.expect_response("**/training*"):
        held[0].continue_()
    page.wait_for_timeout(500)  # for what a page that takes the proposal would do
    assert "Learn from 90" in page.locator(".summary").inner_text()
    assert "proposed" not in page.locator(".summary").inner_text()
    client.delete("/v1/series/slow")


def test_a_file_that_cannot_be_read_says_why(opened: Open) -> None:
    page = opened(quiet=False)  # chromium itself writes refused requests to the console
    page.locator(".drop").wait_for()
    page.set_input_files(
        "#file", {"name": "odd.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\nx,3\n"}
    )
    page.locator(".alert").wait_for()
    assert "'x'" in page.locator(".alert").inner_text()
    page.locator(".drop").wait_for()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_a_refusal_names_a_field_of_the_page_that_reads_the_file(
    opened: Open, client: httpx.Client, size: dict[str, int]
) -> None:
    table = broken_table(60).sample(frac=1, random_state=0)
    file = {"name": "shuffled.csv", "mimeType": "text/csv", "buffer": csv_of(table)}
    page = opened(quiet=False, viewport=size)
    page.set_input_files("#file", file)
    page.locator(".alert").wait_for()
    said = page.locator(".alert").inner_text()
    assert "'sort'" in said
    assert "sort=" not in said
    page.get_by_label("sort", exact=True).check()
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    page.set_input_files("#file", file)
    page.locator("h1", has_text="shuffled").wait_for()
    for name in [each["name"] for each in client.get("/v1/series").json()]:
        if name.startswith("shuffled"):
            client.delete(f"/v1/series/{name}")


def test_a_million_rows_zoom_to_the_single_spike(opened: Open, client: httpx.Client) -> None:
    values = np.sin(np.arange(1_000_000) / 500)
    values[777_777] = 9.0
    text = "value\n" + "\n".join(f"{value:.4f}" for value in values)
    assert client.post("/v1/series?name=long", content=text.encode()).status_code == 201
    page = opened("#/series/long")
    page.locator(".chart .js-line").first.wait_for()
    drawn = page.evaluate(f"{CHART}.data[0].y")
    assert len(drawn) < 5_000
    assert max(value for value in drawn if value is not None) == 9.0
    chart = page.locator(".chart")
    page.get_by_text("Zoom", exact=True).click()
    for left, right, reached in ((0.7, 0.85, 600_000), (0.45, 0.6, 750_000)):
        drag(page, left, right)
        until(page, lambda far=reached: page.evaluate(f"{CHART}.layout.xaxis.range[0]") > far)
    assert page.evaluate(f"{CHART}.layout.xaxis.range[1]") < 800_000
    until(page, lambda: page.evaluate(f"{CHART}.data[0].x.includes(777777)"))
    chart.press("Home")
    until(page, lambda: page.evaluate(f"{CHART}.layout.xaxis.range[0]") < 0)
    client.delete("/v1/series/long")


def test_the_pointer_reads_the_time_of_day(opened: Open) -> None:
    page = opened("#/models/pump")
    page.locator(".chart .js-line").first.wait_for()
    box = page.locator(".chart .nsewdrag").first.bounding_box()
    assert box is not None

    def read() -> bool:
        for step in range(3):
            page.mouse.move(box["x"] + box["width"] / 2 + step, box["y"] + box["height"] / 2)
        text = page.locator(".chart .hoverlayer").first.text_content() or ""
        expected = re.search(r"load, expected : \S+ \(\S+ to \S+\)", text)
        return expected is not None and re.match(r"2024-03-0\d \d\d:\d0", text) is not None

    until(page, read)
    assert page.locator(".chart .js-fill").count() >= 2  # the range of each channel
    assert page.locator(".legend .key.range").first.is_visible()


def test_deleting_asks_first(opened: Open, client: httpx.Client) -> None:
    client.post("/v1/series?name=old", content=csv_of(broken_table(60))).raise_for_status()
    page = opened()
    for answer, left in (("Keep it", True), ("Delete", False)):
        page.get_by_role("button", name="Delete old").click()
        page.get_by_role("dialog").get_by_role("button", name=answer).click()
        page.get_by_role("dialog").wait_for(state="detached")
        until(page, lambda left=left: page.get_by_role("link", name="old").is_visible() == left)
        assert (client.get("/v1/series/old").status_code == 200) == left


def model_at(address: str) -> dict[str, object]:
    """What the service says of the model, but for the time that a fit took."""
    facts: dict[str, object] = httpx.get(f"{address}/v1/models/pump").json()
    return {name: fact for name, fact in facts.items() if name != "seconds"}


def test_a_fit_under_way_can_be_cancelled(
    browser: "Browser", weights: Path, tmp_path: Path
) -> None:
    with listening(settings(tmp_path, weights)) as address:
        fit_pump(address)
    # No turn comes for another fit, so that it is under way however slow the page is.
    turnless = settings(tmp_path, weights, fits=0)
    with listening(turnless) as address, watched_pages(browser) as open_page:
        before = model_at(address)
        page = open_page(f"{address}/#/models/pump", (address, "blob:", "data:"))
        page.get_by_role("button", name="Fit again").click()
        page.get_by_role("button", name="Cancel").click()
        page.locator(".waiting").wait_for(state="detached")
        page.locator(".event-row").first.wait_for()
        assert model_at(address) == before


def test_of_many_columns_some_are_drawn_and_others_can_be_chosen(
    opened: Open, client: httpx.Client
) -> None:
    values = np.random.default_rng(0).normal(size=(200, 20))
    table = pd.DataFrame(values, columns=[f"host{number:02d}" for number in range(20)])
    client.post("/v1/series?name=hosts", content=csv_of(table)).raise_for_status()
    page = opened("#/series/hosts")
    page.locator(".chart .js-line").first.wait_for()
    assert page.locator(".drawn summary").inner_text().startswith("8 of 20 columns are drawn")
    page.locator(".drawn summary").click()
    page.locator(".drawn").get_by_label("host19").check()
    until(page, lambda: page.locator(".chart .trace:has(.js-line)").count() == 9)
    assert "host19" in page.locator(".chart").inner_text()
    client.delete("/v1/series/hosts")


def test_a_new_file_is_scored_by_a_model_that_is_there(opened: Open, client: httpx.Client) -> None:
    table = broken_table(400)
    table.loc[200:219, "heat"] += 8
    page = opened("#/models/pump", quiet=False)
    page.locator(".event-row").first.wait_for()
    for name, sent in (("odd.csv", table[["time", "load"]]), ("new.csv", table)):
        page.set_input_files(
            "#file", {"name": name, "mimeType": "text/csv", "buffer": csv_of(sent)}
        )
        page.locator(
            "h1" if name == "new.csv" else ".alert", has_text="new" if name == "new.csv" else "heat"
        ).wait_for()
    page.locator(".event-row", has_text="heat").first.click()
    page.locator(".event .reason", has_text="heat").wait_for()
    assert bands(page, "training") == []
    page.get_by_role("link", name="Back to the series it learned from").click()
    until(page, lambda: page.locator("h1").inner_text() == "pump")
    for name in ("odd", "new"):
        client.delete(f"/v1/series/{name}")


def overlapping(page: "Page") -> list[str]:
    """Ticks of the time axis that touch the next one."""
    found: list[str] = page.evaluate(
        """() => {
            const boxes = [...document.querySelector(".chart").querySelectorAll(".xtick text")]
              .map((text) => [text.getBoundingClientRect(), text.textContent])
              .sort(([one], [other]) => one.left - other.left);
            return boxes.slice(1).filter(([box], index) => box.left < boxes[index][0].right)
              .map(([, text]) => text);
        }"""
    )
    return found


def test_a_phone_shows_one_column_and_dark_is_dark(opened: Open) -> None:
    page = opened(
        "#/models/pump", viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page.locator(".event-row").first.click()
    # The counterpart of an event of one row is a line of one point, which no browser calls visible.
    page.locator(".event .js-line").last.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert overlapping(page) == []
    page.get_by_role("button", name="Show everything").click()
    until(page, lambda: page.evaluate(f"{CHART}.layout.xaxis.range[0]") < "2024-03-01T01")
    assert overlapping(page) == []
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert max(red, green, blue) < 60
