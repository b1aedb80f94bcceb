"""`caps score`: the scores of a file by a saved model."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.cli.results import analyze_file, check_table, write_scores
from caps.jobs import set_default_threads


def score(
    model: Path,
    file: Path,
    *,
    out: Path,
    time: str | None = None,
    alarms: str | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Score every row of a file by a saved model.

    Parameters
    ----------
    model
        Folder written by `caps fit` or `caps detect`.
    file
        CSV or Parquet file with the metrics the model was fitted on.
    out
        File for score, p_value, flag and event of each row: .csv or .parquet.
    time
        Time column; recognised if left out.
    alarms
        Another alarm budget than the model's.
    json_output
        Print JSON instead of text.
    """
    check_table(out, file)
    set_default_threads()
    fitted, analysis = analyze_file(model, file, alarms=alarms, time=time)
    write_scores(analysis, out)
    facts = {
        "rows": len(analysis.series),
        "flagged": int(analysis.flag.sum()),
        "events": len(analysis.events),
        "alarms": fitted.alarms,
        "threshold": fitted.threshold_,
        "file": str(out),
    }
    if json_output:
        print(json.dumps(facts, indent=2))
        return
    print(
        f"{facts['rows']} rows, {facts['flagged']} of them in {facts['events']} events "
        f"at an alarm budget of {facts['alarms']}"
    )
    print(f"written {out}")
