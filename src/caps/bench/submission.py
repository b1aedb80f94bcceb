"""Scores in the layout that TSB-AD's own benchmark scripts write.

`score/uni/<METHOD>/<series>.npy` (or `multi`) holds one score for each row of the whole series,
`metrics/uni/<METHOD>.csv` what `caps.bench.leaderboard` writes.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from caps.artifacts import replacing
from caps.bench.cells import Record, read_cells, scores_path
from caps.bench.leaderboard import write_leaderboard
from caps.bench.summary import cell_frame
from caps.errors import InputError


@dataclass(frozen=True, slots=True)
class Submission:
    """What was written, and what could not be."""

    methods: list[str]
    series: int
    without_scores: int  # done without --save-scores
    with_gaps: int  # TSB-AD drops rows with missing values, so its labels would not fit
    failed: int


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
        folder = target / "score" / _kind(record) / str(record["method"])
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


def _kind(record: Record) -> str:
    return "uni" if record["channels"] == 1 else "multi"
