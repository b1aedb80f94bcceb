"""The page holds everything, safely, in one file of bounded size."""

import base64
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from telemetry_report import BUDGETS, telemetry_report

from caps.errors import InputError
from caps.report import Channel, EventCard, Report, overview_figure, render_report, write_report
from caps.scoring import Band

EVIL = "<script>alert('x')</script>&\"%{y}"


class Page(HTMLParser):
    """The text of a page by its elements, without scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.cells: list[list[str]] = []
        self.links: list[str] = []
        self.data = ""
        self.scripts = 0
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.links += [str(facts[name]) for name in ("src", "href") if name in facts]
        self.scripts += tag == "script"
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
        if tag not in ("meta", "input"):
            self._open.append((tag, facts))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, facts = self._open[-1] if self._open else ("", {})
        if facts.get("id") == "report-data":
            self.data += data
        if tag in ("script", "style"):
            return
        self.words.append(data)
        if any(each in ("td", "th") for each, _ in self._open):
            self.cells[-1][-1] += " ".join(data.split())

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(month_page: Path) -> Page:
    return Page(month_page.read_text(encoding="utf-8"))


def long_report(rows: int) -> Report:
    rng = np.random.default_rng(0)
    values, scores = rng.normal(size=rows), rng.uniform(0, 0.3, rows)
    values[rows // 3] = 1234.5
    scores[rows // 3] = 0.97
    seconds = np.datetime64("2024-01-01") + np.arange(rows) * np.timedelta64(1, "s")
    return Report("long", (Channel("load", values),), scores, 0.5, time=seconds)


def drawn(chart: dict[str, object], name: str) -> np.ndarray:
    trace = next(each for each in chart["data"] if each["name"] == name)  # type: ignore[attr-defined]
    return np.frombuffer(base64.b64decode(trace["y"]["bdata"]), dtype=f"<{trace['y']['dtype']}")


def test_the_tables_hold_every_event_and_budget_without_scripts(page: Page, month: Report) -> None:
    starts = {row[1] for row in page.cells}
    for event in month.events:
        assert str(month.time[event.start].astype("datetime64[m]")).replace("T", " ") in starts
        assert event.reason in page.text
    budgets = {row[0].removesuffix("(in force)") for row in page.cells}
    assert set(BUDGETS) <= budgets


def test_notes_model_and_run_are_written_out(page: Page, month: Report) -> None:
    for note in month.notes:
        assert note in page.text
    for name, value in {**month.model, **month.run}.items():
        assert [name, str(value)] in page.cells


def test_readers_without_scripts_are_told_what_they_miss(month_page: Path) -> None:
    hidden = re.findall(r"<noscript>(.*?)</noscript>", month_page.read_text(encoding="utf-8"))
    assert any("charts need JavaScript" in text for text in hidden)


def test_the_page_refers_to_nothing_outside_itself(page: Page) -> None:
    assert page.links
    assert all(link.startswith("#") for link in page.links)


def test_every_link_leads_somewhere(page: Page, month_page: Path) -> None:
    anchors = set(re.findall(r' id="([^"]+)"', month_page.read_text(encoding="utf-8")))
    assert {link.removeprefix("#") for link in page.links} <= anchors


def test_a_kind_that_was_not_validated_is_not_shown(month: Report) -> None:
    event = EventCard(1, 5, 7, 6, 0.9, kind_scores={"point": 0.4, "trend": 0.6})
    html = render_report(telemetry_report(events=(event,)))
    assert "anomaly" not in Page(html).text
    assert "trend" not in Page(html).text
    assert not any("Kind" in row for row in Page(html).cells)


def test_columns_appear_when_something_is_known(page: Page) -> None:
    header = next(row for row in page.cells if "Start" in row)
    assert {"As strong in normal data", "Kind", "Effect"} <= set(header)


def test_names_of_the_user_cannot_become_markup(month: Report) -> None:
    channels = (Channel(EVIL, month.channels[0].values), *month.channels[1:])
    event = EventCard(1, 5, 7, 6, 0.9, kind=EVIL, contributions={EVIL: 1.0}, reason=EVIL)
    html = render_report(
        telemetry_report(
            title=EVIL, channels=channels, events=(event,), notes=(EVIL,), run={EVIL: EVIL}
        )
    )
    assert "<script>alert" not in html
    found = Page(html)
    assert found.scripts == 3  # the data, plotly and the page's own
    assert found.text.count(EVIL) >= 5
    names = [trace["name"] for trace in json.loads(found.data)["charts"]["overview"]["data"]]
    assert any(name.startswith("&lt;script&gt;") for name in names)


def test_a_million_rows_make_a_small_page_that_keeps_the_spike() -> None:
    html = render_report(long_report(1_000_000))
    assert len(html.encode()) < 6_000_000
    chart = json.loads(Page(html).data)["charts"]["overview"]
    assert 1234.5 in drawn(chart, "load")
    assert drawn(chart, "score").max() == pytest.approx(0.97)


def test_many_channels_and_events_make_a_bounded_page() -> None:
    rng = np.random.default_rng(0)
    rows, count = 20_000, 60
    channels = tuple(Channel(f"c{k}", rng.normal(size=rows)) for k in range(count))
    events = tuple(
        EventCard(k, 10 * k, 10 * k + 3, 10 * k, 0.5 + k / 4000, contributions={"c59": 1.0})
        for k in range(1, 1900)
    )
    html = render_report(Report("wide", channels, rng.uniform(size=rows), 0.4, events))
    assert len(html.encode()) < 7_000_000
    found = Page(html)
    assert "Drawn are the 12 of 60 channels" in found.text
    assert "1000 strongest of 1899" in found.text
    names = [trace["name"] for trace in json.loads(found.data)["charts"]["overview"]["data"]]
    assert "c59" in names


def test_what_was_expected_lies_under_what_was_measured() -> None:
    values = np.arange(40.0)
    band = Band(values + 1, values - 2, values + 4)
    report = Report("x", (Channel("load", values, band),), np.zeros(40), 0.5, band_share=0.99)
    found = Page(render_report(report))
    assert "the range that holds 99% of normal rows" in found.text
    chart = json.loads(found.data)["charts"]["overview"]
    names = [trace["name"] for trace in chart["data"]]
    assert names == ["load, range", "load, expected", "load", "score"]
    np.testing.assert_array_equal(drawn(chart, "load, expected"), values + 1)
    outline = drawn(chart, "load, range")
    np.testing.assert_array_equal(outline[:-1], [*(values + 4), *(values - 2)[::-1]])
    edges = chart["data"][1]["customdata"]
    assert edges["shape"] == "40, 2"
    assert len(base64.b64decode(edges["bdata"])) == 40 * 2 * 4
    assert "range" not in Page(render_report(replace(report, band_share=None))).text
    with pytest.raises(InputError, match="lower of channel 'load' has 3 rows"):
        replace(report, channels=(Channel("load", values, Band(values, values[:3], values)),))


def test_values_that_single_precision_would_blur_stay_exact() -> None:
    values = 1e9 + np.arange(50.0) / 10
    html = render_report(Report("x", (Channel("x", values),), np.zeros(50), 0.5))
    np.testing.assert_array_equal(
        drawn(json.loads(Page(html).data)["charts"]["overview"], "x"), values
    )


def test_a_series_without_times_counts_rows() -> None:
    values = np.arange(30.0)
    event = EventCard(1, 4, 6, 5, 0.9)
    html = render_report(Report("x", (Channel("x", values),), values / 30, 0.5, (event,)))
    assert "row 4" in Page(html).text
    assert json.loads(Page(html).data)["dated"] is False


def test_the_same_report_gives_the_same_page(month: Report, month_page: Path) -> None:
    assert render_report(telemetry_report()) == month_page.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_drawn_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise RuntimeError("interrupted")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(RuntimeError, match="interrupted"):
        write_report(long_report(100), path)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_a_notebook_gets_the_overview_as_a_figure(month: Report) -> None:
    figure = overview_figure(month, dark=True)
    assert [trace.name for trace in figure.data if trace.mode == "lines"] == [
        *(channel.name for channel in month.channels),
        "score",
    ]
    assert figure.data[-1].x[0] == month.time[0]
    assert "--" not in figure.to_json()


def test_the_report_needs_no_torch() -> None:
    code = "import sys, caps.report; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
