"""`caps detect`: fit, score, threshold, events and report of one file."""

import json
import time as clock
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from caps.artifacts import writing_together
from caps.cli.progress import progress_line
from caps.cli.results import (
    Run,
    TableFormat,
    names_in,
    print_summary,
    report_of,
    stretches_in,
    write_scores,
    write_table,
)
from caps.errors import InputError
from caps.jobs import set_default_threads
from caps.replacing import check_folder

RESULTS, VERSION = "caps.results", 1  # of the folder
REPORT, MODEL = "report.html", "model"


def detect(
    file: Path,
    *,
    train: str | None = None,
    columns: str | None = None,
    time: str | None = None,
    alarms: str = "1/1000",
    known: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    aggregate: Literal["max", "top5"] = "max",
    switches: Annotated[bool, Parameter(negative="")] = False,
    causal: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    out: Path | None = None,
    format: TableFormat = "csv",
    pretrained: Path | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Find the anomalies of a series: fit, score, threshold, events and report.

    Parameters
    ----------
    file
        CSV or Parquet file with one row for each moment and one column for each metric.
    train
        Part to learn from: rows (2000), share (0.5) or the moment it ends (2024-03-15). All rows
        if left out; CAPS then trusts that most of them are normal.
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
    out
        Folder for report.html, scores, events and the model; named after the file if left out.
    format
        Of scores and events: csv or parquet.
    pretrained
        Folder of pretrained weights, instead of the shipped ones.
    json_output
        Print JSON instead of tables.
    """
    folder = Path(f"{file.stem}-caps") if out is None else out
    check_folder(folder, kind=RESULTS)
    if folder.resolve() in file.resolve().parents:
        raise InputError(f"{file} lies in {folder}, which is replaced", "name another --out")
    set_default_threads()
    from caps.estimator import CAPS
    from caps.series import read

    started = clock.monotonic()
    chosen = names_in(columns)
    series = read(file, columns=chosen, time=time)
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
    with progress_line() as progress:
        model.fit(series, known_anomalies=stretches_in(known), progress=progress)
    analysis = model.analyze(series)
    run = Run(
        title=file.name,
        model=model,
        analysis=analysis,
        explained=analysis.explanations(),
        train_rows=len(series) if train is None else len(series.split(train)[0]),
        seconds=clock.monotonic() - started,
    )
    files = write_outputs(run, folder, format)
    if json_output:
        print(json.dumps({**run.facts(), "files": [str(path) for path in files]}, indent=2))
    else:
        print_summary(run, files)


def write_outputs(run: Run, folder: Path, format: TableFormat) -> list[Path]:
    """Write report, scores, events and model as one folder; return what was written."""
    from caps.events import event_table
    from caps.report import write_report

    scores, events = f"scores.{format}", f"events.{format}"
    with writing_together(folder, kind=RESULTS, version=VERSION) as staging:
        write_report(report_of(run), staging / REPORT)
        write_scores(run.analysis, staging / scores)
        write_table(event_table(run.analysis, run.explained), staging / events)
        run.model.save(staging / MODEL)
    return [folder / name for name in (REPORT, scores, events, MODEL)]
