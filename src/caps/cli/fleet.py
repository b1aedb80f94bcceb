"""`caps fleet`: fit or score many series on one or many machines."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from caps.cli.options import (
    Engine,
    Flag,
    Json,
    PlannedFile,
    TimeColumn,
    group,
    names_in,
    takes_fit_options,
)
from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.fleet import (
    PAGE,
    TABLE,
    FleetResult,
    ScoreOptions,
    find_series,
    fit_fleet,
    lead,
    score_fleet,
)
from caps.planned import Planned
from caps.scoring import FitOptions
from caps.series import write_moment

MOST_LISTED = 15  # series on screen, and as many failures
Id = Annotated[str | None, Parameter(help="Column of a long table that tells the series apart.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Options of both commands: how the work is done.

    Args:
        workers: Series at the same time; as many as there are cores if left out.
        ray_address: Of a running Ray cluster; Ray starts one on this machine if left out.
        retries: How often a series that failed is tried again; bad input is not.
    """

    engine: Engine = "local"
    workers: int | None = None
    ray_address: str | None = None
    retries: int = 2


fleet = group("fleet", "Fit or score thousands of series, one model each.")


@fleet.command
@takes_fit_options
def fit(
    source: Path | None = None,
    *,
    out: Path | None = None,
    id: Id = None,
    options: FitOptions,
    toml: Annotated[Path | None, Parameter(name="--config")] = None,
    running: Running = Running(),  # frozen
    json_output: Json = False,
) -> None:
    """Fit one model for each series; run it again to go on where it was stopped.

    Example: caps fleet fit metrics/ --train 0.5 --out fleet/

    Args:
        source: Folder of CSV or Parquet files (one series each), a manifest (CSV with a column
            file, and column, id, train if needed), a wide table (one series a column) or, with
            --id, a long one.
        out: Folder for models, scores, events, series.parquet and summary.html.
        toml: caps.toml, which says all of this: its sources are fitted for `caps watch`.
    """
    if toml is not None:
        if source is not None or out is not None or id is not None or options != FitOptions():
            raise InputError("--config and other options at once", "say everything in the file")
        from caps.cli.prometheus import configured  # half a second that other fleets do without

        entries, out, options = configured(toml)
    elif source is None or out is None:
        raise InputError("nothing to fit, or nowhere", "name the series and --out, or --config")
    with progress_line() as progress:
        if source is not None:
            progress.begin(f"looking for series in {source}")
            entries = find_series(source, id=id, columns=options.columns, time=options.time)
        progress.begin(f"fitting {len(entries):,} series")
        result = fit_fleet(entries, out, options, **asdict(running), progress=progress)
    _tell(result, out, json_output)


@fleet.command
def score(
    source: Path,
    *,
    models: Path,
    out: Path,
    id: Id = None,
    columns: str | None = None,
    time: TimeColumn = None,
    alarms: str | None = None,
    planned: PlannedFile = None,
    running: Running = Running(),  # frozen
    pretrained: Path | None = None,
    json_output: Json = False,
) -> None:
    """Score each series by the model of its id.

    Example: caps fleet score today/ --models fleet/ --out today-scored/

    Args:
        source: Folder, manifest or table, as for `caps fleet fit`.
        models: Folder written by `caps fleet fit`.
        out: Folder for scores, events, series.parquet and summary.html.
        columns: Columns to use, separated by commas; of a long table: the values.
        alarms: Another alarm budget than the models'.
        pretrained: Folder of the pretrained weights of the fit, if they were not the shipped ones.
    """
    windows = Planned() if planned is None else Planned.read(planned)
    options = ScoreOptions(alarms=alarms, time=time, pretrained=pretrained, planned=windows)
    chosen = None if columns is None else names_in(columns, "--columns cpu,load")
    with progress_line() as progress:
        progress.begin(f"looking for series in {source}")
        entries = find_series(source, id=id, columns=chosen, time=time)
        progress.begin(f"scoring {len(entries):,} series")
        result = score_fleet(entries, models, out, options, **asdict(running), progress=progress)
    _tell(result, out, json_output)


@fleet.command
def refit(
    source: Path | None = None,
    *,
    models: Path | None = None,
    id: Id = None,
    columns: str | None = None,
    time: TimeColumn = None,
    every: str | None = None,
    on_drift: Flag = False,
    review: Flag = False,
    keep: int = 3,
    toml: Annotated[Path | None, Parameter(name="--config")] = None,
    running: Running = Running(),  # frozen
    json_output: Json = False,
) -> None:
    """Fit every model again that is due, show the alarms gained and lost, and let it take over.

    Without --every and --on-drift all are due. Call it from a timer; a running `caps watch`
    takes over what is put in force. `caps model rollback fleet/models/*` takes it back.

    Example: caps fleet refit recent/ --models fleet/ --every 7d --on-drift

    Args:
        source: The recent past: folder, manifest or table, as for `caps fleet fit`.
        models: Folder written by `caps fleet fit`.
        columns: Columns to use, separated by commas; of a long table: the values.
        every: Due when the newest version is older than this, such as 7d or 12h.
        on_drift: Due when the scores of the rows since no longer look like those of calibration.
        review: Leave the new versions beside those in force, for `caps model promote`.
        keep: Versions to keep of each; the one in force and the one before it stay in any case.
        toml: caps.toml, which says all of this: its sources, models and [refits].
    """
    # Half a second that --help and the other commands of a fleet do without.
    from caps.cli.refits import fleet_of, show
    from caps.jobs import Lost, open_engine, run_tasks
    from caps.renewal import put_in_force, renew
    from caps.watch import Refits, seconds_in

    refits = Refits(None if every is None else seconds_in(every), on_drift, keep, review)
    chosen = None if columns is None else names_in(columns, "--columns cpu,load")
    done, lost = [], []
    with progress_line() as progress:
        progress.begin("reading the recent past")
        tasks = fleet_of(toml, source, models, refits, id=id, columns=chosen, time=time)
        progress.begin(f"looking at {len(tasks):,} models")
        address = running.ray_address
        with open_engine(running.engine, workers=running.workers, ray_address=address) as engine:
            for task, ended, _ in run_tasks(tasks, renew, engine, retries=running.retries):
                if isinstance(ended, Lost):
                    lost.append({"series": task.entry.id, "problem": ended.problem})
                else:
                    done.append(ended)
                progress(f"{len(done)} of {len(tasks)}", len(done) / len(tasks))
    waits = tasks[0].refits.review if tasks else review
    show([*done, *lost], waits, json_output)
    if not waits:
        put_in_force(done)
    if any("problem" in each for each in [*done, *lost]):
        sys.exit(1)


def _tell(result: FleetResult, out: Path, json_output: bool) -> None:
    """Print the outcome; a fleet with failures ends with exit code 1."""
    if json_output:
        print(json.dumps(result.facts(), indent=2))
    else:
        _print(result, out)
    if result.failures:
        sys.exit(1)


def _print(result: FleetResult, out: Path) -> None:
    console = Console(highlight=False)
    console.print(lead(result), style="bold", markup=False)
    if result.skipped:
        console.print(f"{result.skipped} were finished before and left as they are", style="dim")
    stirred = [each for each in result.done if each["events"]]
    if stirred:
        table = Table("series", "severity", "events", "strongest event", "kind")
        for each in stirred[:MOST_LISTED]:
            when = f"row {each['strongest_row']}"
            if each["strongest_time"] is not None:
                when = write_moment(np.datetime64(each["strongest_time"]), "m")
            numbers = f"{each['severity']:.1f}", str(each["events"])
            table.add_row(each["series"], *numbers, when, each["strongest_kind"] or "")
        console.print(table)
        console.print("severity: -log10 of the strongest event's p-value", style="dim")
    for each in result.failures[:MOST_LISTED]:
        console.print(f"failed: {each['series']}: {each['reason']}", markup=False, soft_wrap=True)
    if len(result.failures) > MOST_LISTED:
        console.print(f"and {len(result.failures) - MOST_LISTED} more failures; see the page")
    console.print(f"written {out / PAGE} and {out / TABLE}", markup=False, soft_wrap=True)
