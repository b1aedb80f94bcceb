"""Results as frames in the user's own library."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.events.analysis import Analysis, Explanation
from caps.series import Series

CONTRIBUTION = "contribution_"  # before the name of a channel


def score_table(analysis: Analysis) -> Any:
    """One row for each row of the series: score, p_value, flag, event and contributions."""
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
    return analysis.series.frame(columns)


def event_table(analysis: Analysis, explained: list[Explanation]) -> Any:
    """One row for each event; start, end and peak are times where the series has some.

    The end is that of the last row; `end_row` is exclusive.
    """
    events = [each.event for each in explained]
    series = analysis.series
    columns: dict[str, Any] = {
        "event": np.array([each.number for each in explained], dtype=np.intp),
        "start": _moments(series, [event.start for event in events]),
        "end": _moments(series, [event.end - 1 for event in events]),
        "peak": _moments(series, [event.peak for event in events]),
        "start_row": np.array([event.start for event in events], dtype=np.intp),
        "end_row": np.array([event.end for event in events], dtype=np.intp),
        "score": np.array([event.score for event in events], dtype=np.float64),
        "p_value": np.array([event.p_value for event in events], dtype=np.float64),
        "kind": _texts([each.kind for each in explained]),
        "direction": _texts([event.direction for event in events]),
        "size": np.array([event.size for event in events], dtype=np.float64),
        "channel": _texts([each.channels[0].name for each in explained]),
    }
    names = analysis.fitted.names
    if len(names) > 1:
        for name in names:
            shares = [each.contributions[name] for each in explained]
            columns[f"{CONTRIBUTION}{name}"] = np.array(shares, dtype=np.float64)
    origin = replace(series.origin, index=None, time_column=None, time_name=None)
    return origin.frame(columns, None, None)


def _moments(series: Series, rows: list[int]) -> Any:
    """The times of some rows as the user wrote them, or their numbers."""
    which: NDArray[np.intp] = np.array(rows, dtype=np.intp)
    if series.time is None:
        return which
    taken = series.origin.take(which)
    if taken.time_column is not None:
        return taken.time_column
    if getattr(taken.index, "dtype", None) is not None and taken.index.dtype.kind == "M":
        return taken.index
    return series.time[which]


def _texts(texts: list[str | None]) -> NDArray[np.object_]:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
