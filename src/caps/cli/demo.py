"""`caps demo`: a simulated month of telemetry, read, scored by a stand-in and evaluated."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from caps.artifacts import replacing, write_text
from caps.cli.evaluate import print_evaluation
from caps.errors import InputError
from caps.metrics import Evaluation, Floors, evaluate, floors
from caps.series import Series, read
from caps.simulate.telemetry import STEPS_PER_DAY, Incident, Telemetry, month_of_telemetry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

STAND_IN = (
    "Detection is not part of this version yet. The scores here are a stand-in, not CAPS: the "
    "distance of each metric from its median at the same time of day in the training part, "
    "divided by the median of such distances; the largest over the metrics."
)
SCORE = "stand_in_score"
TELEMETRY, SCORES, PICTURE = "telemetry.csv", "scores.csv", "overview.png"
INK, MARK, SHADE = "#2457a6", "#c0392b", "#f3d9a4"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found out; scores and labels belong to the rows of `rest`."""

    series: Series
    train: Series
    rest: Series
    score: np.ndarray
    labels: np.ndarray
    incidents: tuple[Incident, ...]
    result: Evaluation
    floor: Floors


def demo(
    *,
    out: Path = Path("caps-demo"),
    seed: int = 0,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Run on a simulated month of telemetry; needs no files.

    Parameters
    ----------
    out
        Folder for telemetry.csv, scores.csv and overview.png.
    seed
        Another seed makes another month.
    json_output
        Print JSON instead of tables.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file", "name a folder with --out")
    telemetry = month_of_telemetry(seed)
    files = [out / TELEMETRY, out / SCORES]
    _write_telemetry(telemetry, files[0])
    outcome = _score_and_evaluate(files[0], telemetry)
    scored = {SCORE: outcome.score, "label": outcome.labels}
    _write_frame(outcome.rest.frame(scored), files[1])
    if _draw_overview(outcome, out / PICTURE):
        files.append(out / PICTURE)
    if json_output:
        print(json.dumps(_facts(outcome, seed, files), indent=2))
    else:
        _print_summary(outcome, files)


def _write_telemetry(telemetry: Telemetry, path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(telemetry.values, columns=list(telemetry.metrics))
    frame.insert(0, "time", pd.DatetimeIndex(telemetry.time, tz="UTC"))
    _write_frame(frame.assign(label=telemetry.labels.astype(int)), path)


def _write_frame(frame: Any, path: Path) -> None:
    text = frame.to_csv(index=False, float_format="%.10g", date_format="%Y-%m-%dT%H:%M:%SZ")
    write_text(path, text)


def _score_and_evaluate(path: Path, telemetry: Telemetry) -> Outcome:
    """Everything from here on knows the file alone; the incidents are kept for the report."""
    series = read(path, exclude="label")
    train, rest = series.split(telemetry.train_end)
    labels = read(path, columns="label").values[len(train) :, 0].astype(int)
    score = stand_in_score(train, rest)
    result = evaluate(score, labels, window=STEPS_PER_DAY)
    return Outcome(
        series=series,
        train=train,
        rest=rest,
        score=score,
        labels=labels,
        incidents=telemetry.incidents,
        result=result,
        floor=floors(labels, window=result.window),
    )


def stand_in_score(train: Series, rest: Series) -> np.ndarray:
    """Distance from the usual value at the time of day, in units of the usual distance.

    A value that was not observed has no distance; a row without any observed value scores 0.
    """
    usual = _usual_day(train)
    unit = np.nanmedian(np.abs(train.values - usual[_slot(train)]), axis=0)
    distance = np.abs(rest.values - usual[_slot(rest)]) / unit
    # Rounded, so that the file holds exactly these scores and ties stay ties.
    return np.asarray(np.max(distance, axis=1, where=rest.observed, initial=0.0).round(6))


def _usual_day(train: Series) -> np.ndarray:
    """Median of every metric at every time of day: (slot, metric)."""
    slot = _slot(train)
    return np.array(
        [np.nanmedian(train.values[slot == each], axis=0) for each in range(STEPS_PER_DAY)]
    )


def _times(series: Series) -> np.ndarray:
    assert series.time is not None  # the demo writes them itself
    return series.time


def _slot(series: Series) -> np.ndarray:
    since_midnight = _times(series) - _times(series).astype("datetime64[D]")
    return np.asarray(since_midnight // np.timedelta64(10, "m"))


def _highest(outcome: Outcome, incident: Incident) -> float:
    time = _times(outcome.rest)
    during = (time >= incident.start) & (time < incident.end)
    return float(outcome.score[during].max())


def _facts(outcome: Outcome, seed: int, files: list[Path]) -> dict[str, Any]:
    floor = outcome.floor
    return {
        "score": STAND_IN,
        "seed": seed,
        "rows": len(outcome.series),
        "train_rows": len(outcome.train),
        "notes": outcome.series.notes(),
        "incidents": [
            {
                "name": incident.name,
                "start": str(incident.start),
                "end": str(incident.end),
                "metrics": incident.metrics,
                "highest_score": _highest(outcome, incident),
            }
            for incident in outcome.incidents
        ],
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
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 0, 2), expand=False))

    console.print(f"{STAND_IN}\n", style="yellow")
    console.print("[bold]1. A month of telemetry[/bold], simulated, written and read back")
    say(str(outcome.series))
    for note in outcome.series.notes():
        say(f"note: {note}")
    say(f"{len(outcome.train)} rows of training without incidents, then {len(outcome.rest)} rows")
    console.print("\n[bold]2. What happened[/bold], and how the stand-in saw it")
    console.print(_incident_table(outcome))
    outside = np.quantile(outcome.score[outcome.labels == 0], [0.5, 0.99])
    say(f"without an incident: median {outside[0]:.1f}, 99 % of rows below {outside[1]:.1f}")
    console.print("\n[bold]3. How good is the stand-in?[/bold]")
    print_evaluation(outcome.result, outcome.floor, window_origin="one day")
    console.print("\n[bold]Written[/bold]")
    for path in files:
        console.print(f"  {path}", soft_wrap=True)
    if PICTURE not in {path.name for path in files}:
        say(f"no {PICTURE}: it needs matplotlib, pip install 'caps-tsad\\[plots]'")
    console.print("The last table again, from the file:")
    scores = next(path for path in files if path.name == SCORES)
    options = f"--score {SCORE} --label label --window {STEPS_PER_DAY}"
    console.print(f"  caps evaluate {scores} {options}", soft_wrap=True)


def _incident_table(outcome: Outcome) -> "Table":
    from rich.table import Table

    table = Table("incident", "starts (UTC)", "hours", "shows in", "highest score")
    for incident in outcome.incidents:
        hours = (incident.end - incident.start) / np.timedelta64(1, "h")
        table.add_row(
            incident.name,
            f"{incident.start.astype(datetime):%d %b %H:%M}",
            f"{hours:.1f}",
            ", ".join(incident.metrics),
            f"{_highest(outcome, incident):.1f}",
        )
    return table


def _draw_overview(outcome: Outcome, path: Path) -> bool:
    """Draw metrics, incidents and score to a PNG file; False where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.dates import DateFormatter
        from matplotlib.figure import Figure
    except ImportError:
        return False
    series, day_and_month = outcome.series, DateFormatter("%d %b")  # type: ignore[no-untyped-call]
    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(series.channels) + 1, 1, sharex=True)
    for panel in panels:
        panel.axvspan(_times(outcome.train)[0], _times(outcome.rest)[0], color="0.95", zorder=-1)
    for place, name in enumerate(series.channels):
        panels[place].plot(_times(series), series.values[:, place], color=INK, lw=0.7)
        _dress(panels[place], name, [each for each in outcome.incidents if name in each.metrics])
    panels[-1].plot(_times(outcome.rest), outcome.score, color=MARK, lw=0.7)
    panels[-1].set_yscale("log")
    panels[-1].set_ylim(bottom=1)
    panels[-1].yaxis.set_major_formatter("{x:g}")
    panels[-1].xaxis.set_major_formatter(day_and_month)
    _dress(panels[-1], "stand-in score\n(not CAPS)", outcome.incidents)
    _name_above(panels[0], outcome)
    figure.align_ylabels()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return True


def _dress(panel: "Axes", title: str, incidents: Iterable[Incident]) -> None:
    for incident in incidents:
        panel.axvspan(incident.start, incident.end, color=SHADE, lw=0, zorder=0)  # type: ignore[arg-type]
    panel.set_ylabel(title, rotation=0, ha="right", va="center")
    panel.margins(x=0)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def _name_above(panel: "Axes", outcome: Outcome) -> None:
    """Write the training part and the incidents over the top panel."""
    spans = [
        (incident.name.replace(" ", "\n", 1), incident.start, incident.end)
        for incident in outcome.incidents
    ]
    train = _times(outcome.train)
    for name, start, end in [("training part, no incidents", train[0], train[-1]), *spans]:
        panel.annotate(
            name,
            (start + (end - start) / 2, 1.04),
            xycoords=panel.get_xaxis_transform(),
            ha="center",
            fontsize=8,
            annotation_clip=False,
        )
