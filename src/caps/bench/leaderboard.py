"""Results in the layout of TSB-AD's leaderboard: one CSV a method, a row for each series.

The columns are those of TSB-AD's own scripts in their order: file, seconds, then the nine metrics
of the whole series under TSB-AD 1.5's protocol. CAPS has six of them; the others are empty.
"""

from pathlib import Path

import pandas as pd

from caps.artifacts import replacing
from caps.bench.summary import FIELD_METRICS

COLUMNS = (
    *("file", "Time", "AUC-PR", "AUC-ROC", "VUS-PR", "VUS-ROC", "Standard-F1"),
    *("PA-F1", "Event-based-F1", "R-based-F1", "Affiliation-F"),
)


def leaderboard(frame: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """The table of each kind (`uni`, `multi`) and method, from a frame of cells.

    Means over seeds; failed cells have no row, undefined metrics are empty.
    """
    done = frame[frame["status"] == "done"]
    rows = pd.DataFrame(
        {
            "kind": done["channels"].map(lambda channels: "uni" if channels == 1 else "multi"),
            "method": done["method"],
            "file": done["series"],
            "Time": done["fit_seconds"] + done["score_seconds"],
            **{title: done[f"whole_{name}"].astype(float) for name, title in FIELD_METRICS.items()},
        }
    )
    means = rows.groupby(["kind", "method", "file"]).mean()
    return {
        (str(kind), str(method)): table.droplevel(["kind", "method"])
        .reset_index()
        .reindex(columns=list(COLUMNS))
        for (kind, method), table in means.groupby(["kind", "method"])
    }


def write_leaderboard(folder: Path, frame: pd.DataFrame) -> list[Path]:
    """Write `<folder>/uni/<method>.csv` and `<folder>/multi/<method>.csv`; returns the files."""
    written = []
    for (kind, method), table in leaderboard(frame).items():
        path = folder / kind / f"{method}.csv"
        with replacing(path) as temporary:
            table.to_csv(temporary, index=False)
        written.append(path)
    return written
