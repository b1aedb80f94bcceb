"""`caps demo`: a simulated month of telemetry; CAPS looks for its five incidents."""

import json
import time as clock
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from caps.artifacts import write_text, writing_together
from caps.cli.evaluate import print_evaluation
from caps.cli.overview import draw_overview
from caps.cli.progress import progress_line
from caps.cli.results import (
    Run,
    print_events,
    report_of,
    write_table,
)
from caps.events import event_table
from caps.jobs import set_default_threads
from caps.metrics import Evaluation, Floors, evaluate, floors
from caps.replacing import check_folder
from caps.report import write_report
from caps.scoring import carrying
from caps.series import Series, read
from caps.simulate import STEPS_PER_DAY, Incident, Telemetry, month_of_telemetry

ALARMS = "3/month"  # what a person on call would put up with
KIND, VERSION = "caps.demo", 1  # of the folder
TELEMETRY, SCORES, EVENTS = "telemetry.csv", "scores.csv", "events.csv"
REPORT, PICTURE = "report.html", "overview.png"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found out; `score` and `labels` belong to the rows after training."""

    run: Run
    incidents: tuple[Incident, ...]
    score: np.ndarray
    labels: np.ndarray
    result: Evaluation
    floor: Floors

    @property
    def series(self) -> Series:
        """The month as it was read back."""
        return self.run.analysis.series

    def events_of(self, incident: Incident) -> list[int]:
        """Numbers of the events during the incident in one of the metrics it shows in."""
        time, found = _times(self.series), []
        for each in self.run.explained:
            start, end = time[each.start], time[each.end - 1]
            shared = set(incident.metrics) & set(carrying(each.contributions))
            if start < incident.end and end >= incident.start and shared:
                found.append(each.number)
        return found

    @property
    def found(self) -> int:
        """Incidents with at least one event."""
        return sum(bool(self.events_of(incident)) for incident in self.incidents)

    @property
    def false_events(self) -> list[int]:
        """Numbers of the events that belong to no incident, those of the training part included."""
        true = {number for incident in self.incidents for number in self.events_of(incident)}
        return [each.number for each in self.run.explained if each.number not in true]


def demo(
    *,
    out: Path = Path("caps-demo"),
    seed: int = 0,
    alarms: str = ALARMS,
    pretrained: Path | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Run on a simulated month of telemetry; needs no files.

    Parameters
    ----------
    out
        Folder for telemetry.csv, scores.csv, events.csv, report.html and overview.png.
    seed
        Another seed makes another month.
    alarms
        False alarms that are acceptable: 3/month, 1/day, 1/1000 (rows).
    pretrained
        Folder of pretrained weights, instead of the shipped ones.
    json_output
        Print JSON instead of tables.
    """
    check_folder(out, kind=KIND)
    telemetry = month_of_telemetry(seed)
    set_default_threads()
    with writing_together(out, kind=KIND, version=VERSION) as staging:
        _write_telemetry(telemetry, staging / TELEMETRY)
        outcome = _detect(staging / TELEMETRY, telemetry, seed, alarms, pretrained)
        names = [TELEMETRY, *_write_results(outcome, staging)]
    files = [out / name for name in names]
    if json_output:
        print(json.dumps(_facts(outcome, seed, files), indent=2))
    else:
        _print_summary(outcome, files)


def _write_telemetry(telemetry: Telemetry, path: Path) -> None:
    import pandas as pd  # half a second that --help does without

    frame = pd.DataFrame(telemetry.values, columns=list(telemetry.metrics))
    frame.insert(0, "time", pd.DatetimeIndex(telemetry.time, tz="UTC"))
    frame["label"] = telemetry.labels.astype(int)
    text = frame.to_csv(index=False, float_format="%.10g", date_format="%Y-%m-%dT%H:%M:%SZ")
    write_text(path, text)


def _detect(
    path: Path, telemetry: Telemetry, seed: int, alarms: str, pretrained: Path | None
) -> Outcome:
    """CAPS knows the file alone, without its labels; the incidents are kept for the comparison."""
    from caps.estimator import CAPS  # torch: two seconds that --help and a refusal do without

    started = clock.monotonic()
    series = read(path, exclude="label")
    model = CAPS(train=telemetry.train_end, alarms=alarms, seed=seed, pretrained=pretrained)
    with progress_line() as progress:
        model.fit(series, progress=progress)
    analysis = model.analyze(series)
    train_rows = len(series.training_part(telemetry.train_end))
    run = Run(
        title="A simulated month of telemetry",
        model=model,
        analysis=analysis,
        explained=analysis.explanations(),
        train_rows=train_rows,
        seconds=clock.monotonic() - started,
    )
    labels = read(path, columns="label").values[train_rows:, 0].astype(int)
    # Rounded as written, so that the file evaluates to exactly these figures.
    score = np.nan_to_num(analysis.score[train_rows:]).round(9)
    result = evaluate(score, labels, window=STEPS_PER_DAY)
    floor = floors(labels, window=result.window)
    return Outcome(run, telemetry.incidents, score, labels, result, floor)


def _write_results(outcome: Outcome, out: Path) -> list[str]:
    run, names = outcome.run, [SCORES, EVENTS, REPORT]
    rest = outcome.series[run.train_rows :]
    numbers = run.analysis.event_id[run.train_rows :]
    columns = {"score": outcome.score, "event": numbers, "label": outcome.labels}
    write_table(rest.frame(columns), out / SCORES)
    write_table(event_table(run.analysis, run.explained), out / EVENTS)
    write_report(report_of(run), out / REPORT)
    if draw_overview(run, outcome.incidents, out / PICTURE):
        names.append(PICTURE)
    return names


def _times(series: Series) -> np.ndarray:
    assert series.time is not None  # the demo writes them itself
    return series.time


def _facts(outcome: Outcome, seed: int, files: list[Path]) -> dict[str, Any]:
    floor = outcome.floor
    return {
        "seed": seed,
        **outcome.run.facts(),
        "incidents": [
            {
                "name": incident.name,
                "start": str(incident.start),
                "end": str(incident.end),
                "metrics": incident.metrics,
                "events": outcome.events_of(incident),
            }
            for incident in outcome.incidents
        ],
        "incidents_found": outcome.found,
        "false_events": outcome.false_events,
        "protocol": outcome.result.protocol,
        "metrics": outcome.result.as_dict(),
        "floors": {
            "random": floor.random.as_dict(),
            "constant": floor.constant.as_dict(),
            "all_ones": floor.all_ones.as_dict(),
        },
        "files": [str(path) for path in files],
    }


def _print_summary(outcome: Outcome, files: list[Path]) -> None:
    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 0, 2), expand=False), markup=False)

    run = outcome.run
    console.print("[bold]1. A month of telemetry[/bold], simulated, written and read back")
    say(str(outcome.series))
    for note in run.notes:
        say(f"note: {note}")
    rest = len(outcome.series) - run.train_rows
    say(f"{run.train_rows} rows of training without incidents, then {rest} rows")
    console.print("\n[bold]2. What CAPS found[/bold], without labels")
    expected = run.model.expected_alarms_["per day"] * 7
    say(f"alarm budget {run.model.alarms}: {expected:.2g} false alarms a week to expect")
    print_events(run.explained, outcome.series)
    console.print("\n[bold]3. What had happened[/bold]")
    console.print(_incident_table(outcome))
    count, false = len(outcome.incidents), len(outcome.false_events)
    console.print(
        f"  [bold]{outcome.found} of {count} incidents found, {false} false events[/bold]"
    )
    console.print("\n[bold]4. How good are the scores?[/bold]")
    print_evaluation(outcome.result, outcome.floor, window_origin="one day")
    console.print("\n[bold]Written[/bold]")
    for path in files:
        console.print(f"  {path}", soft_wrap=True)
    if PICTURE not in {path.name for path in files}:
        say(f"no {PICTURE}: it needs matplotlib, pip install 'caps-tsad[plots]'")
    console.print("The last table again, from the file:")
    scores = next(path for path in files if path.name == SCORES)
    options = f"--score score --label label --window {STEPS_PER_DAY}"
    console.print(f"  caps evaluate {scores} {options}", soft_wrap=True)


def _incident_table(outcome: Outcome) -> Table:
    table = Table("incident", "starts (UTC)", "hours", "shows in", "events")
    for incident in outcome.incidents:
        hours = (incident.end - incident.start) / np.timedelta64(1, "h")
        numbers = outcome.events_of(incident)
        table.add_row(
            incident.name,
            f"{incident.start.astype(datetime):%d %b %H:%M}",
            f"{hours:.1f}",
            ", ".join(incident.metrics),
            ", ".join(map(str, numbers)) if numbers else "missed",
        )
    return table
