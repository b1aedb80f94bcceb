"""The page in a real browser: it draws, zooms and follows the reader's colours and screen."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from telemetry_report import telemetry_report

from caps.report import Channel, Report, write_report
from caps.scoring import Band
from patience import until
from watched_pages import DESKTOP, PHONE, Open, watched_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

RANGE = "document.getElementById('overview-chart').layout.xaxis.range"


@pytest.fixture
def opened(browser: "Browser", month_page: Path) -> Iterator[Open]:
    """Open a report, which fetches nothing."""
    with watched_pages(browser) as open_page:

        def open_report(path: Path = month_page, **options: Any) -> "Page":
            page = open_page(path.as_uri(), **options)
            if options.get("java_script_enabled", True):
                page.wait_for_selector(".tools:not([hidden])")
            return page

        yield open_report


def moments(page: "Page") -> list[np.datetime64]:
    return [np.datetime64(edge.replace(" ", "T")) for edge in page.evaluate(RANGE)]


def test_every_channel_is_drawn_with_the_events(opened: Open, month: Report) -> None:
    page = opened()
    chart = page.locator("#overview-chart")
    assert chart.locator(".trace:has(.js-line)").count() == len(month.channels) + 1
    for text in [*(channel.name for channel in month.channels), "score"]:
        assert chart.get_by_text(text, exact=True).count() == 1
    bands = page.evaluate(
        "document.getElementById('overview-chart').layout.shapes"
        ".filter((shape) => shape.name === 'event').map((shape) => [shape.x0, shape.x1])"
    )
    half = np.timedelta64(5, "m")
    assert [np.datetime64(left) for left, _ in bands] == [
        month.time[event.start] - half for event in month.events
    ]


def test_dragging_zooms_and_a_double_click_zooms_out(opened: Open, month: Report) -> None:
    page = opened()
    whole = moments(page)
    box = page.locator("#overview-chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 500, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 800, box["y"] + 130, steps=5)
    page.mouse.up()
    until(page, lambda: moments(page)[0] > month.time[1000])
    left, right = moments(page)
    assert whole[0] < left < right < whole[1]

    def zoomed_out() -> bool:
        # On a busy machine the two clicks may come too far apart to be one double click.
        page.mouse.dblclick(box["x"] + 600, box["y"] + 120)
        page.wait_for_timeout(1000)
        return moments(page) == whole

    until(page, zoomed_out)


def test_the_keyboard_reaches_every_event(opened: Open, month: Report) -> None:
    page = opened()
    for event in month.events:
        page.get_by_role("button", name="Next event").press("Enter")
        left, right = moments(page)
        assert left <= month.time[event.start]
        assert month.time[event.end - 1] <= right
        assert right - left < np.timedelta64(18, "D")
    page.get_by_role("button", name="Whole series").press("Enter")
    assert moments(page)[0] <= month.time[0]


def test_the_buttons_zoom_and_move(opened: Open) -> None:
    page = opened()
    whole = moments(page)
    page.get_by_role("button", name="Zoom in").click()
    zoomed = moments(page)
    assert 2 * (zoomed[1] - zoomed[0]) - (whole[1] - whole[0]) < np.timedelta64(1, "s")
    page.get_by_role("button", name="Move to later times").click()
    assert moments(page)[0] > zoomed[0]
    page.get_by_role("button", name="Zoom out").click()
    assert moments(page)[1] == whole[1]


def test_an_event_panel_shows_the_counterpart_and_leads_to_the_overview(
    opened: Open, month: Report
) -> None:
    page = opened()
    event = month.events[-1]
    panel = page.locator(f"#event-{event.number} .chart")
    panel.scroll_into_view_if_needed()
    panel.locator(".js-line").first.wait_for()
    assert panel.locator(".trace:has(.js-line)").count() == 2 * len(event.panel.channels)
    page.locator(f"#event-{event.number} [data-event]").click()
    until(page, lambda: moments(page)[0] > month.time[2000])
    assert moments(page)[1] >= month.time[event.end - 1]


def test_the_slider_shows_what_another_budget_gives(opened: Open, month: Report) -> None:
    page = opened()
    slider = page.locator("#budget")
    slider.press("End")
    strictest = month.budgets[-1]
    assert page.locator("output").inner_text().startswith(f"{strictest.name}: {strictest.found} ")
    assert page.locator("tr.current th").inner_text() == strictest.name
    shapes = page.evaluate("document.getElementById('overview-chart').layout.shapes")
    assert [each["y0"] for each in shapes if each["name"] == "threshold"] == [strictest.threshold]
    assert sum(each["name"] == "event" for each in shapes) == strictest.found


def until_the_pointer_reads(page: "Page", across: int, text: str) -> None:
    """Move the pointer over the overview, so far from its left, until it shows such a text."""
    box = page.locator("#overview-chart .nsewdrag").first.bounding_box()
    assert box is not None

    def read() -> bool:
        for step in range(3):
            page.mouse.move(box["x"] + across + step, box["y"] + 60)
        shown = page.locator("#overview-chart .hoverlayer").text_content() or ""
        return re.search(text, shown) is not None

    until(page, read)


def test_the_pointer_reads_the_time_of_day(opened: Open) -> None:
    until_the_pointer_reads(opened(), 500, r"^2024-03-\d\d \d\d:\d0requests")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_what_was_expected_is_drawn_and_read(
    opened: Open, tmp_path: Path, size: dict[str, int]
) -> None:
    values = 10 * np.sin(np.arange(300) / 20)
    channel = Channel("load", values, Band(values + 1, values - 2, values + 4))
    report = Report("x", (channel,), np.zeros(300), 0.5, band_share=0.99)
    write_report(report, tmp_path / "report.html")
    page = opened(tmp_path / "report.html", viewport=size)
    assert page.locator(".legend .key.range").is_visible()
    assert page.locator("#overview-chart .js-fill").count() == 2  # the range, and the score's
    until_the_pointer_reads(page, 150, r"load, expected : \S+ \(\S+ to \S+\)")


def test_the_overview_has_its_slider_and_a_legend_beside_it(opened: Open) -> None:
    overview = opened().locator("#overview")
    assert overview.locator("#budget").is_visible()
    for key in ("series", "training", "band", "score", "threshold"):
        assert overview.locator(f".legend .key.{key}").is_visible()


def test_moments_do_not_depend_on_the_readers_time_zone(opened: Open, month: Report) -> None:
    page = opened(timezone_id="America/New_York")
    assert moments(page)[0] == month.time[0] - np.timedelta64(5, "m")
    first = page.evaluate("document.getElementById('overview-chart').data[0].x[0]")
    assert np.datetime64(first) == month.time[0]


def test_charts_follow_the_readers_colours(opened: Open) -> None:
    page = opened(color_scheme="dark")
    stroke = "getComputedStyle(document.querySelector('#overview-chart .js-line')).stroke"
    dark, dark_page = page.evaluate(stroke), page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(color_scheme="light")
    until(page, lambda: page.evaluate(stroke) != dark)
    assert page.evaluate("getComputedStyle(document.body).color") != dark_page


def test_a_phone_shows_one_column_without_sideways_scrolling(opened: Open) -> None:
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator("#facts").scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    body = page.locator(".event .body").first
    children = body.evaluate("(each) => [...each.children].map((c) => c.getBoundingClientRect().x)")
    assert len(set(children)) == 1


def test_nothing_written_along_the_axis_overlaps_on_a_phone(opened: Open) -> None:
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    for _ in range(3):  # days, then hours
        for written in (".xtick text", ".annotation-text"):
            assert overlapping(page, written) == []
        page.get_by_role("button", name="Zoom in").click()


def overlapping(page: "Page", written: str) -> list[str]:
    """Texts in one line of the overview that touch the next one."""
    found: list[str] = page.evaluate(
        """(written) => {
            const boxes = [...document.querySelectorAll(`#overview-chart :is(${written})`)]
              .map((text) => [text.getBoundingClientRect(), text.textContent])
              .sort(([one], [other]) => one.left - other.left);
            return boxes.slice(1).filter(([box], index) => box.left < boxes[index][0].right
              && box.top === boxes[index][0].top).map(([, text]) => text);
        }""",
        written,
    )
    return found


def test_the_tables_stand_without_scripts(opened: Open, month: Report) -> None:
    page = opened(java_script_enabled=False)
    assert page.locator(".events tbody tr").count() == len(month.events)
    assert page.locator(".budgets tbody tr").count() == len(month.budgets)
    assert not page.locator(".tools").is_visible()


def test_markup_in_a_column_name_is_shown_as_text(
    opened: Open, month: Report, tmp_path: Path
) -> None:
    name = "<script>alert(1)</script> <b>&amp; %{x}"
    channels = (Channel(name, month.channels[0].values), *month.channels[1:])
    write_report(telemetry_report(channels=channels, title=name), tmp_path / "evil.html")
    page = opened(tmp_path / "evil.html")
    assert page.locator("h1").inner_text() == name
    assert page.locator("#overview-chart .annotation-text").first.text_content() == name


def test_gaps_and_rows_without_times_are_drawn(opened: Open, tmp_path: Path) -> None:
    values = np.sin(np.arange(500) / 20)
    values[200:260] = np.nan
    values[[300, 302]] = np.nan
    scores = np.full(500, 0.1)
    scores[200:260] = np.nan
    report = Report("rows", (Channel("x", values),), scores, 0.5)
    write_report(report, tmp_path / "rows.html")
    page = opened(tmp_path / "rows.html")
    # Four strokes; the third is a single value between two missing ones and would not be seen.
    assert page.locator("#overview-chart .xy .js-line").count() == 4
    assert page.locator("#overview-chart .xy .point").count() == 1
    assert page.evaluate(RANGE) == [-0.5, 499.5]
