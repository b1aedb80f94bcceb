"""One HTML page on a fleet: the most severe series first, when their events were, what failed."""

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
    counts = [each.get("events") or 0 for each in done]
    events, stirred = sum(counts), sum(map(bool, counts))
    expected = sum(each.get("expected_events") or 0.0 for each in done)
    text = (
        f"{events} event{'' if events == 1 else 's'} in {stirred} of {len(done)} series; "
        f"about {_figure(expected)} would be false alarms if all rows were normal"
    )
    return text + (f". {failed} series failed." if failed else ".")


def event_lanes(
    out: Path, rows: list[dict[str, Any]]
) -> tuple[dict[str, list[dict[str, Any]]], tuple[str, str]]:
    """The events of some series on one axis, in percent of its width, and its ends.

    The axis is of times, or of rows if any series has no times.
    """
    stirred = [row for row in rows if row.get("events")]
    if not stirred:
        return {}, ("", "")
    dated = all(row.get("first_time") is not None for row in stirred)
    names, first, last = ("start_row", "end_row"), 0, max(row["rows"] for row in stirred)
    if dated:
        names = "start", "end"
        first = min(_microseconds(row["first_time"]) for row in stirred)
        last = max(_microseconds(row["last_time"]) for row in stirred)

    def moment(position: int) -> str:
        return write_moment(np.datetime64(position, "us"), "m") if dated else f"row {position}"

    scale = 100.0 / max(last - first, 1)
    lanes = {}
    for row in stirred:
        events = read_part(out / EVENTS / f"{file_name(row['series'])}.parquet")
        columns = (events[name].astype(np.int64).tolist() for name in names)
        lanes[row["series"]] = [
            {
                "left": min(100 - LEAST_WIDTH, scale * (start - first)),
                "width": max(LEAST_WIDTH, scale * (stop - start)),
                "opacity": _opacity(p_value),
                "text": f"{moment(start)}, p = {p_value:.1g}",
            }
            for start, stop, p_value in zip(*columns, events["p_value"].tolist(), strict=True)
        ]
    return lanes, (moment(first), moment(last))


def _microseconds(text: str) -> int:
    return int(np.datetime64(text, "us").astype(np.int64))


def _opacity(p_value: float) -> float:
    rarity = -np.log10(max(p_value, 10.0**-STRONG))
    return round(0.3 + 0.7 * float(np.clip((rarity - FAINT) / (STRONG - FAINT), 0, 1)), 2)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
