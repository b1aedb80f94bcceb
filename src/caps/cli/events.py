"""`caps events`: the events of a file by a saved model."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.cli.results import analyze_file, check_table, event_facts, print_events, write_table
from caps.events import event_table
from caps.jobs import set_default_threads


def events(
    model: Path,
    file: Path,
    *,
    out: Path | None = None,
    time: str | None = None,
    alarms: str | None = None,
    pretrained: Path | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """List the events of a file by a saved model, each with its reason.

    Parameters
    ----------
    model
        Folder written by `caps fit` or `caps detect`.
    file
        CSV or Parquet file with the metrics the model was fitted on.
    out
        File for the events: .csv or .parquet; none if left out.
    time
        Time column; recognised if left out.
    alarms
        Another alarm budget than the model's.
    pretrained
        Folder of the weights that the model was fitted with, if not the shipped ones: they name
        the kinds of events.
    json_output
        Print JSON instead of a table.
    """
    if out is not None:
        check_table(out, file)
    set_default_threads()
    _, analysis = analyze_file(model, file, alarms=alarms, time=time, pretrained=pretrained)
    explained = analysis.explanations()
    if out is not None:
        write_table(event_table(analysis, explained), out)
    if json_output:
        print(json.dumps([event_facts(each) for each in explained], indent=2))
    else:
        print_events(explained, analysis.series)
