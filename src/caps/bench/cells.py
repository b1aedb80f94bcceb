"""One cell of the benchmark: one method with one seed on one series, kept as one JSON file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import caps
from caps.arrays import FloatArray
from caps.artifacts import replacing, write_text
from caps.json_text import parse_json

Record = dict[str, Any]  # what stands in the JSON file
Facts = Mapping[str, Any]

FORMAT = 2
# What methods were called in the first format, where they are called otherwise since.
RENAMED = {"caps-paper": "caps-small"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a result is the result of."""

    dataset: str
    series: str
    method: str
    config: str  # hash of all that decides the method's scores
    seed: int

    def path(self, out: Path) -> Path:
        """Its file below the folder of a run."""
        name = f"{self.series.removesuffix('.csv')}.{self.config}.{self.seed}.json"
        return out / "cells" / self.dataset / self.method / name


def done_record(cell: Cell, facts: Facts) -> Record:
    """A row with results."""
    return {**_head(cell, "done"), **facts}


def failed_record(
    cell: Cell, kind: str, problem: str, details: str, facts: Facts | None = None
) -> Record:
    """A row with the reason; never a zero."""
    return {
        **_head(cell, "failed"),
        **(facts or {}),
        "failure": kind,  # error, crash or timeout
        "error": problem,
        "traceback": details,
    }


def write_cell(out: Path, cell: Cell, record: Record, scores: FloatArray | None = None) -> None:
    """Write scores, if given, then the record: a record always has its scores."""
    path = cell.path(out)
    if scores is not None:
        with replacing(path.with_suffix(".npy")) as temporary, temporary.open("wb") as stream:
            np.save(stream, scores, allow_pickle=False)
    write_text(path, json.dumps(record, allow_nan=False) + "\n")


def read_cell(path: Path) -> Record | None:
    """A record, or None where there is none that is whole."""
    try:
        record = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("format") not in (1, FORMAT):
        return None
    return record


def read_cells(out: Path) -> Iterator[Record]:
    """Every whole record below the folder of a run, its method by today's name."""
    for path in sorted((out / "cells").glob("*/*/*.json")):
        record = read_cell(path)
        if record is None:
            continue
        if record["format"] == 1 and record["method"] in RENAMED:
            record |= {"method": RENAMED[record["method"]], "stored_as": record["method"]}
        yield record


def scores_path(out: Path, record: Record) -> Path:
    """Where the scores of a record lie, if they were saved."""
    names = {name: record[name] for name in ("dataset", "series", "method", "config", "seed")}
    cell = Cell(**{**names, "method": record.get("stored_as", record["method"])})
    return cell.path(out).with_suffix(".npy")


def of_other_settings(cells: Iterable[Cell], out: Path) -> int:
    """How many results of the same methods, series and seeds were computed with other settings."""
    own = {cell.path(out) for cell in cells}
    keys = {(path.parent, *_without_config(path)) for path in own}
    return sum(
        path not in own and (path.parent, *_without_config(path)) in keys
        for folder in {path.parent for path in own}
        for path in folder.glob("*.json")
    )


def _without_config(path: Path) -> tuple[str, str]:
    parts = path.stem.rsplit(".", 2)
    return parts[0], parts[-1]


def _head(cell: Cell, status: str) -> Record:
    return {"format": FORMAT, **asdict(cell), "status": status, "caps_version": caps.__version__}
