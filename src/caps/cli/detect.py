"""`caps detect`: fit, score, threshold, events and report of one file."""

import json
import time as clock
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.artifacts import writing_together
from caps.cli.options import takes_fit_options
from caps.cli.progress import progress_line
from caps.cli.results import (
    Run,
    TableFormat,
    print_summary,
    report_of,
    spans_in,
    write_scores,
    write_table,
)
from caps.errors import InputError
from caps.events import event_table
from caps.jobs import set_default_threads
from caps.replacing import check_folder
from caps.report import write_report
from caps.scoring import FitOptions
from caps.series import read

RESULTS, VERSION = "caps.results", 1  # of the folder
REPORT, MODEL = "report.html", "model"


@takes_fit_options
def detect(
    file: Path,
    *,
    options: FitOptions,
    known: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    out: Path | None = None,
    format: TableFormat = "csv",
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Find the anomalies of a series: fit, score, threshold, events and report.

    Parameters
    ----------
    file
        CSV or Parquet file with one row for each moment and one column for each metric.
    known
        A span START..END that is known to be anomalous, rows or moments; can be repeated.
    out
        Folder for report.html, scores, events and the model; named after the file if left out.
    format
        Of scores and events: csv or parquet.
    json_output
        Print JSON instead of tables.
    """
    folder = Path(f"{file.stem}-caps") if out is None else out
    check_folder(folder, kind=RESULTS)
    if folder.resolve() in file.resolve().parents:
        raise InputError(f"{file} lies in {folder}, which is replaced", "name another --out")
    set_default_threads()
    from caps.estimator import CAPS  # torch: two seconds that --help and a refusal do without

    started = clock.monotonic()
    series = read(file, columns=options.columns, time=options.time)
    model = CAPS(**options.parameters())
    with progress_line() as progress:
        model.fit(series, known_anomalies=spans_in(known), progress=progress)
    analysis = model.analyze(series)
    run = Run(
        title=file.name,
        model=model,
        analysis=analysis,
        explained=analysis.explanations(),
        train_rows=len(series.training_part(options.train)),
        seconds=clock.monotonic() - started,
    )
    files = write_outputs(run, folder, format)
    if json_output:
        print(json.dumps({**run.facts(), "files": [str(path) for path in files]}, indent=2))
    else:
        print_summary(run, files)


def write_outputs(run: Run, folder: Path, format: TableFormat) -> list[Path]:
    """Write report, scores, events and model as one folder; return what was written."""
    scores, events = f"scores.{format}", f"events.{format}"
    with writing_together(folder, kind=RESULTS, version=VERSION) as staging:
        write_report(report_of(run), staging / REPORT)
        write_scores(run.analysis, staging / scores)
        write_table(event_table(run.analysis, run.explained), staging / events)
        run.model.save(staging / MODEL)
    return [folder / name for name in (REPORT, scores, events, MODEL)]
