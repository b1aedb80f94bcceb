"""`caps fit`: learn from a file and save the model."""

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from caps.cli.progress import progress_line
from caps.cli.results import names_in, stretches_in
from caps.jobs import set_default_threads
from caps.replacing import check_folder


def fit(
    file: Path,
    *,
    out: Path,
    train: str | None = None,
    columns: str | None = None,
    time: str | None = None,
    alarms: str = "1/1000",
    known: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    aggregate: Literal["max", "top5"] = "max",
    switches: Annotated[bool, Parameter(negative="")] = False,
    causal: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    pretrained: Path | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Learn from a file and save the model, for `caps score` and `caps events`.

    Parameters
    ----------
    file
        CSV or Parquet file with one row for each moment and one column for each metric.
    out
        Folder for the model.
    train
        Part to learn from: rows, share or the moment it ends; all rows if left out.
    columns
        Metrics to use, separated by commas; if left out, every numeric column but labels (0 and 1
        in a column called like one).
    time
        Time column; recognised if left out.
    alarms
        False alarms that are acceptable: 1/1000 (rows), 1/day, 2/week.
    known
        A stretch START..END that is known to be anomalous, rows or moments; can be repeated.
    aggregate
        How several metrics are put together: the strongest evidence, or the mean of the top5.
    switches
        Learn metrics that only switch between two values too, where others vary freely.
    causal
        Score each row by the past alone.
    seed
        Same seed, same result.
    pretrained
        Folder of pretrained weights, instead of the shipped ones.
    json_output
        Print JSON instead of text.
    """
    set_default_threads()
    from caps.estimator import CAPS
    from caps.scoring import KIND
    from caps.series import read

    check_folder(out, kind=KIND)
    chosen = names_in(columns)
    model = CAPS(
        train=train,
        alarms=alarms,
        aggregate=aggregate,
        switches=switches,
        causal=causal,
        seed=seed,
        columns=chosen,
        time=time,
        pretrained=pretrained,
    )
    series = read(file, columns=chosen, time=time)
    with progress_line() as progress:
        model.fit(series, known_anomalies=stretches_in(known), progress=progress)
    model.save(out)
    facts = {
        "model": str(out),
        "channels": list(model.fitted_.names),
        "train_rows": model.fitted_.facts["rows"],
        "alarms": alarms,
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
    print(f"alarm budget {alarms}: {expected} to expect on normal data")
    print(f"written {out}; score new rows with: caps score {out} FILE --out scores.csv")
