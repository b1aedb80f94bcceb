"""One HTML page on a fleet: the most severe series first, when their events were, what failed."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.fleet.plan import file_name
from caps.fleet.tables import read_part
from caps.fleet.work import EVENTS
from caps.plots import render_page
from caps.series import write_moment

if TYPE_CHECKING:
    from caps.fleet.fleet import FleetResult

MOST_LANES = 40  # series whose events are drawn
MOST_ROWS = 1_000  # of the ranking
LEAST_WIDTH = 0.4  # of an event, in percent of the lane: a single row stays visible
FAINT, STRONG = 1.0, 6.0  # -log10 p between which events grow darker


@dataclass(frozen=True, slots=True)
class Bar:
    """One event in its lane, in percent of the width."""

    left: float
    width: float
    opacity: float
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of one series."""

    series: str
    bars: tuple[Bar, ...]


def render_summary(result: "FleetResult") -> str:
    """The page as text; it opens offline and needs no script."""
    done = result.done
    lanes, extent = event_lanes(result.out, done[:MOST_LANES])
    return render_page(
        "fleet/summary.html.j2",
        title=result.out.name,
        kind=f"CAPS fleet · {result.job}",
        lead=lead(result),
        facts={
            "Series": f"{len(result.series)}, {result.skipped} of them finished before this run",
            "Failed": str(len(result.failures)),
            "This run took": str(timedelta(seconds=round(result.seconds))),
        },
        parts={
            "when": "When" if lanes else "",
            "ranking": "Ranking",
            "failures": "Failures" if result.failures else "",
        },
        result=result,
        ranking=done[:MOST_ROWS],
        lanes=lanes,
        extent=extent,
        figure=_figure,
    )


def lead(result: "FleetResult") -> str:
    """The fleet in one sentence."""
    done, failed = result.done, len(result.failures)
    stirred = sum(bool(each.get("events")) for each in done)
    events = sum(each.get("events") or 0 for each in done)
    expected = sum(each.get("expected_events") or 0.0 for each in done)
    text = (
        f"{events} {_plural('event', events)} in {stirred} of {len(done)} series; "
        f"about {_figure(expected)} would be false alarms if all rows were normal"
    )
    return text + (f". {failed} series failed." if failed else ".")


def event_lanes(out: Path, rows: list[dict[str, Any]]) -> tuple[list[Lane], tuple[str, str]]:
    """The events of some series on one axis, and its ends: times, or rows if any has none."""
    stirred = [row for row in rows if row.get("events")]
    dated = all(row.get("first_time") is not None for row in stirred)
    if not stirred:
        return [], ("", "")
    if dated:
        first = min(_microseconds(row["first_time"]) for row in stirred)
        last = max(_microseconds(row["last_time"]) for row in stirred)
        ends = _minute(first), _minute(last)
    else:
        first, last = 0, max(row["rows"] for row in stirred)
        ends = "row 0", f"row {last}"
    names = ("start", "end") if dated else ("start_row", "end_row")
    scale = 100.0 / max(last - first, 1)
    lanes = []
    for row in stirred:
        events = read_part(out / EVENTS / f"{file_name(row['series'])}.parquet")
        starts, stops = (events[name].astype(np.int64) - first for name in names)
        bars = [
            Bar(
                left=min(100 - LEAST_WIDTH, scale * start),
                width=max(LEAST_WIDTH, scale * (stop - start)),
                opacity=_opacity(p_value),
                text=f"{_minute(first + start) if dated else f'row {start}'}, p = {p_value:.1g}",
            )
            for start, stop, p_value in zip(
                starts.tolist(), stops.tolist(), events["p_value"].tolist(), strict=True
            )
        ]
        lanes.append(Lane(row["series"], tuple(bars)))
    return lanes, ends


def _microseconds(text: str) -> int:
    return int(np.datetime64(text, "us").astype(np.int64))


def _minute(microseconds: int) -> str:
    return write_moment(np.datetime64(microseconds, "us"), "m")


def _opacity(p_value: float) -> float:
    rarity = -np.log10(max(p_value, 10.0**-STRONG))
    return round(0.3 + 0.7 * float(np.clip((rarity - FAINT) / (STRONG - FAINT), 0, 1)), 2)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
