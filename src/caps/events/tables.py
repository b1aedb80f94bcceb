"""Results as frames in the user's own library."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.events.analysis import Analysis
from caps.events.events import Event
from caps.series import Series, Zoned

CONTRIBUTION = "contribution_"  # before the name of a channel
TYPES: dict[str, Any] = {
    "event": np.intp,
    "start_row": np.intp,
    "end_row": np.intp,
    "score": np.float64,
    "p_value": np.float64,
    "severity": object,
    "kind": object,
    "direction": object,
    "size": np.float64,
    "channel": object,
    "alarm": np.bool_,
    "silenced": object,
    "silenced_by": object,
}


def score_table(analysis: Analysis, *, bands: bool = False) -> Any:
    """One row for each row of the series: score, p_value, flag, event and contributions.

    With `bands` also what was expected of every channel, and the range that counts as normal.
    """
    columns: dict[str, Any] = {
        "score": analysis.score,
        "p_value": analysis.p_value,
        "flag": analysis.flag,
        "event": analysis.event_id,
    }
    names = analysis.fitted.names
    if len(names) > 1:
        shares = analysis.scores.contributions[analysis.rows]
        columns |= {f"{CONTRIBUTION}{name}": shares[:, at] for at, name in enumerate(names)}
    for at, name in enumerate(names if bands else ()):
        of_channel = f"_{name}" if len(names) > 1 else ""
        for what, each in analysis.band._asdict().items():
            columns[f"{what}{of_channel}"] = each[:, at]
    return analysis.series.frame(columns)


def event_table(analysis: Analysis, events: Sequence[Event]) -> Any:
    """One row for each event; start, end and peak are times where the series has some.

    The end is that of the last row; `end_row` is exclusive.
    """
    series, facts = analysis.series, [event.to_dict() for event in events]
    columns: dict[str, Any] = {
        name: np.array([each[name] for each in facts], dtype=kind) for name, kind in TYPES.items()
    }
    columns = {
        "event": columns["event"],
        "start": _moments(series, [event.start for event in events]),
        "end": _moments(series, [event.end - 1 for event in events]),
        "peak": _moments(series, [event.peak for event in events]),
        **columns,
    }
    names = analysis.fitted.names
    if len(names) > 1:
        for name in names:
            shares = [event.contributions[name] for event in events]
            columns[f"{CONTRIBUTION}{name}"] = np.array(shares, dtype=np.float64)
    origin = replace(series.origin, index=None, time_column=None, time_name=None)
    return origin.frame(columns, None, None)


def _moments(series: Series, rows: list[int]) -> Any:
    """The times of some rows as the user wrote them or by the same clock, or their numbers."""
    which: NDArray[np.intp] = np.array(rows, dtype=np.intp)
    if series.time is None:
        return which
    taken = series.origin.take(which)
    if taken.time_column is not None:
        return taken.time_column
    if getattr(taken.index, "dtype", None) is not None and taken.index.dtype.kind == "M":
        return taken.index
    time = series.time[which]
    return time if series.timezone is None else Zoned(time, series.timezone)
