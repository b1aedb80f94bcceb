"""`caps fit`: learn from a file and save the model."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.cli.options import takes_fit_options
from caps.cli.progress import progress_line
from caps.cli.results import spans_in
from caps.jobs import set_default_threads
from caps.replacing import check_folder
from caps.scoring import FitOptions
from caps.series import read


@takes_fit_options
def fit(
    file: Path,
    *,
    out: Path,
    options: FitOptions,
    known: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Learn from a file and save the model, for `caps score` and `caps events`.

    Parameters
    ----------
    file
        CSV or Parquet file with one row for each moment and one column for each metric.
    out
        Folder for the model.
    known
        A span START..END that is known to be anomalous, rows or moments; can be repeated.
    json_output
        Print JSON instead of text.
    """
    set_default_threads()
    # torch: two seconds that --help does without
    from caps.estimator import CAPS
    from caps.scoring import KIND

    check_folder(out, kind=KIND)
    model = CAPS(**options.parameters())
    series = read(file, columns=options.columns, time=options.time)
    with progress_line() as progress:
        model.fit(series, known_anomalies=spans_in(known), progress=progress)
    model.save(out)
    facts = {
        "model": str(out),
        "channels": list(model.fitted_.names),
        "train_rows": model.fitted_.facts["rows"],
        "alarms": options.alarms,
        "threshold": model.threshold_,
        "expected_alarms": model.expected_alarms_,
        "notes": list(dict.fromkeys([*series.notes(), *model.notes_])),
    }
    if json_output:
        print(json.dumps(facts, indent=2))
        return
    for note in facts["notes"]:
        print(f"note: {note}")
    expected = ", ".join(f"{rate:.3g} {per}" for per, rate in model.expected_alarms_.items())
    print(f"learned from {facts['train_rows']} rows of {', '.join(facts['channels'])}")
    print(f"alarm budget {options.alarms}: {expected} to expect on normal data")
    print(f"written {out}; score new rows with: caps score {out} FILE --out scores.csv")
