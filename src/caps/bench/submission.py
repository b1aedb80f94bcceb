"""Results and scores in the layout that TSB-AD's own benchmark scripts write.

`score/uni/<METHOD>/<series>.npy` (or `multi`) holds one score for each row of the whole series,
`metrics/uni/<METHOD>.csv` a row for each series: file, seconds, then the nine metrics of the whole
series under TSB-AD 1.5's protocol. CAPS has six of them; the others are empty.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from caps.artifacts import replacing
from caps.bench.cells import read_cells, scores_path
from caps.bench.summary import FIELD_METRICS, cell_frame
from caps.errors import InputError

COLUMNS = (
    *("file", "Time", "AUC-PR", "AUC-ROC", "VUS-PR", "VUS-ROC", "Standard-F1"),
    *("PA-F1", "Event-based-F1", "R-based-F1", "Affiliation-F"),
)


@dataclass(frozen=True, slots=True)
class Submission:
    """What was written, and what could not be."""

    methods: list[str]
    series: int
    without_scores: int  # done without --save-scores
    with_gaps: int  # TSB-AD drops rows with missing values, so its labels would not fit
    failed: int


def write_leaderboard(folder: Path, frame: pd.DataFrame) -> list[Path]:
    """Write `<folder>/uni/<method>.csv` and `<folder>/multi/<method>.csv`; returns the files.

    Means over seeds; failed cells have no row, undefined metrics are empty.
    """
    done = frame[frame["status"] == "done"]
    rows = pd.DataFrame(
        {
            "kind": done["channels"].map(_kind),
            "method": done["method"],
            "file": done["series"],
            "Time": done["fit_seconds"] + done["score_seconds"],
            **{title: done[f"whole_{name}"].astype(float) for name, title in FIELD_METRICS.items()},
        }
    )
    means = rows.groupby(["kind", "method", "file"]).mean()
    written = []
    for (kind, method), table in means.groupby(["kind", "method"]):
        path = folder / str(kind) / f"{method}.csv"
        with replacing(path) as temporary:
            table.reset_index().reindex(columns=list(COLUMNS)).to_csv(temporary, index=False)
        written.append(path)
    return written


def export_scores(
    out: Path, target: Path, *, methods: Sequence[str] | None = None, seed: int = 0
) -> Submission:
    """Copy the saved scores of a run; a method with results of several settings is refused."""
    records = [record for record in read_cells(out) if record["seed"] == seed]
    if methods is not None:
        records = [record for record in records if record["method"] in methods]
    if not records:
        raise InputError(
            f"{out} holds no results of these methods with seed {seed}",
            "name a folder of caps bench run, and methods and a seed that it has",
        )
    settings = pd.DataFrame(records).groupby("method")["config"].unique()
    for method, hashes in settings[settings.str.len() > 1].items():
        raise InputError(
            f"{method} has results of {len(hashes)} settings ({', '.join(sorted(hashes))})",
            "run it into a folder of its own",
        )
    done = [record for record in records if record["status"] == "done"]
    whole = [record for record in done if not record["filled_values"]]
    ready = [record for record in whole if scores_path(out, record).is_file()]
    if not ready:
        raise InputError(f"{out} holds no scores", "run caps bench run again with --save-scores")
    for record in ready:
        name = Path(str(record["series"])).stem
        folder = target / "score" / _kind(record["channels"]) / str(record["method"])
        with replacing(folder / f"{name}.npy") as temporary:
            shutil.copyfile(scores_path(out, record), temporary)
    write_leaderboard(target / "metrics", cell_frame(ready))
    return Submission(
        methods=sorted({str(record["method"]) for record in ready}),
        series=len({record["series"] for record in ready}),
        without_scores=len(whole) - len(ready),
        with_gaps=len(done) - len(whole),
        failed=len(records) - len(done),
    )


def _kind(channels: int) -> str:
    return "uni" if channels == 1 else "multi"
