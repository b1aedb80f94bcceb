"""Results as Parquet: one file for each series, the same columns in all, the id among them.

The id is a column and no part of the path: readers of partitioned folders would take an id such as
007 for a number. A file holds one series, so its statistics let a reader skip it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caps.artifacts import replacing
from caps.events import Event
from caps.series import Series, need_pyarrow

PARQUET = "the results of a fleet are Parquet, which"  # needs pyarrow
SMALLEST = 1e-300  # p-value, for its logarithm
MOMENT, LIST = "timestamp[us]", "list<string>"
COLUMNS: dict[str, dict[str, str]] = {
    "scores": {
        "series": "string",
        "row": "int64",
        "time": MOMENT,
        "score": "float64",
        "p_value": "float64",
        "flag": "int8",
        "event": "int32",
    },
    "events": {
        "series": "string",
        "event": "int32",
        "start": MOMENT,
        "end": MOMENT,
        "peak": MOMENT,
        "start_row": "int64",
        "end_row": "int64",
        "peak_row": "int64",
        "score": "float64",
        "p_value": "float64",
        "kind": "string",
        "direction": "string",
        "size": "float64",
        "channel": "string",
        "alarm": "bool",
        "silenced": "string",
        "silenced_by": "string",
    },
    "series": {
        "series": "string",
        "status": "string",
        "reason": "string",
        "severity": "float64",
        "events": "int64",
        "expected_events": "float64",
        "silenced": "int64",
        "flagged": "int64",
        "rows": "int64",
        "train_rows": "int64",
        "learned": "string",
        "channels": LIST,
        "alarms": "string",
        "threshold": "float64",
        "first_time": MOMENT,
        "last_time": MOMENT,
        "strongest_row": "int64",
        "strongest_time": MOMENT,
        "strongest_kind": "string",
        "strongest_channel": "string",
        "model": "string",
        "attempts": "int64",
        "fit_seconds": "float64",
        "fit_cpu_seconds": "float64",
        "notes": LIST,
    },
}

Columns = Mapping[str, Any]


def score_columns(id: str, series: Series, frame: Any) -> dict[str, Any]:
    """The rows of the data set of scores; times in UTC."""
    scores = {name: np.asarray(frame[name]) for name in ("score", "p_value", "flag", "event")}
    time = None if series.time is None else _microseconds(series.time)
    count = len(series)
    return {"series": [id] * count, "row": np.arange(count), "time": time, **scores}


def event_columns(id: str, events: Sequence[Event]) -> dict[str, Any]:
    """The rows of the data set of events; the end is that of the last row, `end_row` exclusive."""
    facts = [event.to_dict(_microseconds) for event in events]
    columns = {name: [each.get(name) for each in facts] for name in COLUMNS["events"]}
    return columns | {"series": [id] * len(facts)}


def strongest(events: Columns) -> dict[str, Any]:
    """The rarest event of a series, and the severity it gives: -log10 of its p-value."""
    if len(events["event"]) == 0:
        return {"severity": 0.0}
    p_values = np.maximum(np.asarray(events["p_value"], dtype=np.float64), SMALLEST)
    first = int(np.lexsort((-np.asarray(events["score"]), p_values))[0])
    moment = events["start"][first]
    return {
        "severity": float(-np.log10(p_values[first])),
        "strongest_row": int(events["start_row"][first]),
        "strongest_time": None if moment is None else str(moment),
        "strongest_kind": events["kind"][first],
        "strongest_channel": events["channel"][first],
    }


def write_part(path: Path, kind: str, columns: Columns) -> None:
    """Write one Parquet file of the data set `kind`, as a whole or not at all."""
    arrow, parquet = need_pyarrow(PARQUET)
    texts = {LIST: arrow.list_(arrow.string())}
    kinds = [(name, texts.get(text, text)) for name, text in COLUMNS[kind].items()]
    schema, count = arrow.schema(kinds), len(columns["series"])
    filled = {
        name: arrow.nulls(count, field.type)
        if columns.get(name) is None
        else arrow.array(columns[name], field.type, from_pandas=True)
        for name, field in zip(schema.names, schema, strict=True)
    }
    with replacing(path) as temporary:
        parquet.write_table(arrow.table(filled, schema=schema), temporary)


def series_columns(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row for each series from its facts."""
    columns: dict[str, Any] = {
        name: [each.get(name) for each in facts] for name in COLUMNS["series"]
    }
    for name in ("first_time", "last_time", "strongest_time"):
        texts = columns[name]
        columns[name] = [None if text is None else np.datetime64(text, "us") for text in texts]
    return columns


def read_part(path: Path) -> dict[str, Any]:
    """The columns of one Parquet file as arrays."""
    table = need_pyarrow(PARQUET)[1].read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _microseconds(time: Any) -> Any:
    return time.astype("datetime64[us]")
