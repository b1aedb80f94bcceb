"""`caps demo`: a simulated month of telemetry; CAPS looks for its five incidents."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from caps.artifacts import write_text, writing_together
from caps.cli.evaluate import print_evaluation
from caps.cli.options import Json
from caps.cli.results import Run, print_events, write_events, write_table
from caps.errors import InputError
from caps.metrics import Evaluation, Floors, evaluate, floors
from caps.plots import LIGHT, SMALL, draw_lines, name_left, need_matplotlib, write_png
from caps.replacing import check_folder
from caps.report import write_report
from caps.scoring import FitOptions, carrying
from caps.series import read
from caps.simulate import STEPS_PER_DAY, Incident, Telemetry, month_of_telemetry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALARMS = "3/month"  # what a person on call would put up with
KIND, VERSION = "caps.demo", 1  # of the folder
TELEMETRY, SCORES, EVENTS = "telemetry.csv", "scores.csv", "events.csv"
REPORT, PICTURE = "report.html", "overview.png"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found out; `score` and `labels` belong to the rows after training."""

    run: Run
    events: dict[Incident, list[int]]  # numbers of those that belong to each incident
    false_events: list[int]  # that belong to none, those of the training part included
    score: np.ndarray
    labels: np.ndarray
    result: Evaluation
    floor: Floors

    @property
    def found(self) -> int:
        """Incidents with at least one event."""
        return sum(map(bool, self.events.values()))


def demo(
    *,
    out: Path = Path("caps-demo"),
    seed: int = 0,
    alarms: str = ALARMS,
    pretrained: Path | None = None,
    json_output: Json = False,
) -> None:
    """Run on a simulated month of telemetry; needs no files.

    Args:
        out: Folder for telemetry.csv, scores.csv, events.csv, report.html and overview.png.
        seed: Another seed makes another month.
        alarms: False alarms that are acceptable: 3/month, 1/day, 1/1000 (rows).
        pretrained: Folder of pretrained weights, instead of the shipped ones.
    """
    check_folder(out, kind=KIND)
    telemetry = month_of_telemetry(seed)
    train = telemetry.train_end
    options = FitOptions(train=train, alarms=alarms, seed=seed, pretrained=pretrained)
    with writing_together(out, kind=KIND, version=VERSION) as staging:
        _write_telemetry(telemetry, staging / TELEMETRY)
        outcome = _detect(staging / TELEMETRY, telemetry, options)
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


def _detect(path: Path, telemetry: Telemetry, options: FitOptions) -> Outcome:
    """CAPS knows the file alone, without its labels; the incidents are kept for the comparison."""
    run = Run.of(path, options, title="A simulated month of telemetry", exclude=("label",))
    labels = read(path, columns="label").values[run.learned.end :, 0].astype(int)
    # Rounded as written, so that the file evaluates to exactly these figures.
    score = np.nan_to_num(run.analysis.score[run.learned.end :]).round(9)
    result = evaluate(score, labels, window=STEPS_PER_DAY)
    events = {incident: _events_of(incident, run) for incident in telemetry.incidents}
    true = set().union(*events.values())
    false = [each.number for each in run.explained if each.number not in true]
    floor = floors(labels, window=result.window)
    return Outcome(run, events, false, score, labels, result, floor)


def _events_of(incident: Incident, run: Run) -> list[int]:
    """Numbers of the events during the incident in one of the metrics it shows in."""
    time, found = _times(run), []
    for each in run.explained:
        start, end = time[each.start], time[each.end - 1]
        shared = set(incident.metrics) & set(carrying(each.contributions))
        if start < incident.end and end >= incident.start and shared:
            found.append(each.number)
    return found


def _times(run: Run) -> np.ndarray:
    assert run.analysis.series.time is not None  # the demo writes them itself
    return run.analysis.series.time


def _write_results(outcome: Outcome, out: Path) -> list[str]:
    run, names = outcome.run, [SCORES, EVENTS, REPORT]
    rest = run.analysis.series[run.learned.end :]
    numbers = run.analysis.event_id[run.learned.end :]
    columns = {"score": outcome.score, "event": numbers, "label": outcome.labels}
    write_table(rest.frame(columns), out / SCORES)
    write_events(run.analysis, run.explained, out / EVENTS)
    write_report(run.report(), out / REPORT)
    try:
        need_matplotlib()
    except InputError:
        return names
    _draw(run, list(outcome.events), out / PICTURE)
    return [*names, PICTURE]


def _draw(run: Run, incidents: list[Incident], path: Path) -> None:
    """Metrics, incidents, score and events over the month."""
    from matplotlib.dates import DateFormatter  # an extra, and half a second to import

    analysis, time = run.analysis, _times(run)
    figure, panels = draw_lines(analysis)
    for panel, name in zip(panels, [*analysis.series.channels, None], strict=True):
        panel.axvspan(time[0], time[run.learned.end], color=LIGHT["--training"], lw=0, zorder=-1)
        for each in incidents:
            if name is None or name in each.metrics:
                panel.axvspan(each.start, each.end, color=LIGHT["--mark"], lw=0, zorder=0)  # type: ignore[arg-type]
    score = panels[-1]
    score.set_ylim(0, 1.15)
    for event in analysis.events:
        ends = [time[event.start], time[event.end - 1]]
        # With markers, as a line within one pixel is not drawn.
        score.plot(ends, [1.08, 1.08], "o-", color=LIGHT["--event"], lw=5, ms=5, mew=0)
    score.xaxis.set_major_formatter(DateFormatter("%d %b"))  # type: ignore[no-untyped-call]
    name_left(score, "CAPS score\nand events")
    _name_above(panels[0], "training part, no incidents", time[0], time[run.learned.end - 1])
    for each in incidents:
        _name_above(panels[0], each.name.replace(" ", "\n", 1), each.start, each.end)
    write_png(figure, path)


def _name_above(panel: "Axes", name: str, start: Any, end: Any) -> None:
    middle, across = (start + (end - start) / 2, 1.04), panel.get_xaxis_transform()
    look: Any = {"ha": "center", "fontsize": SMALL, "annotation_clip": False}
    panel.annotate(name, middle, xycoords=across, **look)


def _facts(outcome: Outcome, seed: int, files: list[Path]) -> dict[str, Any]:
    return {
        "seed": seed,
        **outcome.run.facts(),
        "incidents": [
            {
                "name": incident.name,
                "start": str(incident.start),
                "end": str(incident.end),
                "metrics": incident.metrics,
                "events": numbers,
            }
            for incident, numbers in outcome.events.items()
        ],
        "incidents_found": outcome.found,
        "false_events": outcome.false_events,
        "protocol": outcome.result.protocol,
        "metrics": outcome.result.as_dict(),
        "floors": {
            name: getattr(outcome.floor, name).as_dict()
            for name in ("random", "constant", "all_ones")
        },
        "files": [str(path) for path in files],
    }


def _print_summary(outcome: Outcome, files: list[Path]) -> None:
    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 0, 2), expand=False), markup=False)

    run = outcome.run
    series = run.analysis.series
    console.print("[bold]1. A month of telemetry[/bold], simulated, written and read back")
    say(str(series))
    for note in run.notes:
        say(f"note: {note}")
    rest = len(series) - run.learned.end
    say(f"{run.learned.end} rows of training without incidents, then {rest} rows")
    console.print("\n[bold]2. What CAPS found[/bold], without labels")
    expected = run.model.expected_alarms_["per day"] * 7
    say(f"alarm budget {run.model.alarms}: {expected:.2g} false alarms a week to expect")
    print_events(run.explained, series, run.headline)
    console.print("\n[bold]3. What had happened[/bold]")
    table = Table("incident", "starts (UTC)", "hours", "shows in", "events")
    for incident, numbers in outcome.events.items():
        starts = f"{incident.start.astype(datetime):%d %b %H:%M}"
        hours = (incident.end - incident.start) / np.timedelta64(1, "h")
        found = ", ".join(map(str, numbers)) or "missed"
        table.add_row(incident.name, starts, f"{hours:.1f}", ", ".join(incident.metrics), found)
    console.print(table)
    count, false = len(outcome.events), len(outcome.false_events)
    events = "event" if false == 1 else "events"
    console.print(
        f"  [bold]{outcome.found} of {count} incidents found, {false} false {events}[/bold]"
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
