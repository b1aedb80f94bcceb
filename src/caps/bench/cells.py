"""One cell of the benchmark: one method with one seed on one series, kept as one JSON file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import caps
from caps.artifacts import replacing, write_text
from caps.json_text import parse_json

FloatArray = NDArray[np.float64]
Record = dict[str, Any]  # what stands in the JSON file
Facts = Mapping[str, Any]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """What a result is the result of."""

    dataset: str
    series: str
    method: str
    config: str  # hash of the method's settings
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
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    return record


def read_cells(out: Path) -> Iterator[Record]:
    """Every whole record below the folder of a run."""
    for path in sorted((out / "cells").glob("*/*/*.json")):
        record = read_cell(path)
        if record is not None:
            yield record


def _head(cell: Cell, status: str) -> Record:
    return {"format": FORMAT, **asdict(cell), "status": status, "caps_version": caps.__version__}
