"""Tables of what operators get: events found, false alarms against the budget, delay, NAB, UCR."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from caps.bench.alarms import NAB, RATE, UCR
from caps.bench.bootstrap import INTERVALS, Resample, mean_figure, over_datasets, over_series
from caps.bench.cells import Record
from caps.bench.published import Kind
from caps.bench.rendering import Entry, Table, frame_table
from caps.bench.summary import MODES
from caps.metrics import NabCurve, NabScore, best_nab

FACTOR = 3.0  # a series keeps to the budget if its false alarms are within this of it
PERCENT = 100.0
DIGITS = {"Events": 0, "Found": 0, "False events": 0, "Budget": 1}

# Title and unit of every figure whose mean is shown.
FIGURES = {
    "recall": ("Event recall, %", PERCENT),
    "any_found": ("Series with a true event, %", PERCENT),
    "over_budget": ("False events / budget", 1.0),
    "iou": ("IoU, %", PERCENT),
    "iou_found": ("IoU of found, %", PERCENT),
    "delay": ("Delay, rows", 1.0),
    "delay_share": ("Delay, % of event", PERCENT),
    "flagged": ("Rows flagged, %", PERCENT),
    "flagged_over_anomalous": ("Flagged / anomalous", 1.0),
}
RULE = (
    f"Alarms at a budget of 1/{1 / RATE:.0f} rows, without labels. CAPS: its own events. Every "
    "other method: runs above a threshold, merged over 8 rows, that the scores of the second half "
    "of the training part set after a fit on the first half. Test part only."
)
MEANS = INTERVALS + (
    "Undefined figures, such as the delay where nothing was found, "
    "are left out. Delay: median over the found events of a series, from the start of an event to "
    "its first row in an alarm."
)
COUNTED = (
    "Sums over series, mean over seeds. Budget: normal test rows times its rate. Within factor 3: "
    "of series, counts of events rounded outwards. NAB: standard profile, labelled events as "
    "windows, training rows as probation, every row of an alarm a detection, 0 for silence and 100 "
    "for perfection; at the budget, and under the one threshold that is best for all of its series "
    "together, as NAB chooses it with labels. UCR top-1: the highest test score lies within the "
    "event or no farther than its length or 100 rows."
)


def operator_tables(
    frame: pd.DataFrame, records: Sequence[Record], kind: Kind, apart: Collection[str] = ()
) -> list[Table]:
    """Means over series and over datasets, and totals, in hindsight and live.

    The rows of `frame` are numbered as `records`. Datasets that stand `apart` get tables of their
    own and count in no other.
    """
    done = frame[frame["status"] == "done"]
    away = done["dataset"].isin(list(apart))
    parts = {"": done[~away]}
    if away.any():
        shown = ", ".join(sorted(done[away]["dataset"].unique()))
        parts = {f", without {shown}": done[~away], f", {shown} only": done[away]}
    tables = []
    for scope, cells in parts.items():
        for mode, how in MODES.items():
            known = cells[cells[f"{mode}_alarms"].notna()]
            if known.empty:
                continue
            where = f"{kind}, {how}{scope}"
            ending = f"{kind}_{mode}{'_apart' if scope.endswith('only') else ''}"
            missing = _missing(cells, mode)
            for name, over, mean in (
                ("series", "series", over_series),
                ("datasets", "series, then over datasets", over_datasets),
            ):
                rows = [
                    [str(method), *_means(own, mode, mean), str(own["series"].nunique())]
                    for method, own in known.groupby("method")
                ]
                header = ["Method", *(title for title, _ in FIGURES.values()), "Series"]
                title = f"Alarms, mean over {over}, {where}"
                notes = [RULE, MEANS, *missing]
                tables.append(Table(f"operator_{name}_{ending}", title, header, rows, notes))
            totals = {
                method: _totals(own, mode, records) for method, own in known.groupby("method")
            }
            counts = pd.DataFrame.from_dict(totals, orient="index")
            name, title = f"operator_totals_{ending}", f"Alarms, totals, {where}"
            notes = [RULE, COUNTED, *missing]
            tables.append(frame_table(name, title, counts, "Method", DIGITS, notes))
    return tables


def _missing(cells: pd.DataFrame, mode: str) -> list[str]:
    """Which methods lack figures, and why."""
    column = f"{mode}_undefined"
    reasons = cells[cells[column].notna()].groupby(column)["method"].unique()
    return [
        f"Without figures ({reason}): {', '.join(sorted(who))}." for reason, who in reasons.items()
    ]


def _means(cells: pd.DataFrame, mode: str, mean: Resample) -> list[Entry]:
    by_series = cells.groupby(["series", "dataset"])[[f"{mode}_{name}" for name in FIGURES]].mean()
    datasets = by_series.index.get_level_values("dataset").to_series()
    entries: list[Entry] = []
    for name, (_, unit) in FIGURES.items():
        values = by_series[f"{mode}_{name}"].to_numpy(np.float64) * unit
        entries.append(mean_figure(values, datasets, mean, digits=1 if unit == PERCENT else 2))
    return entries


def _totals(cells: pd.DataFrame, mode: str, records: Sequence[Record]) -> dict[str, float]:
    names = ["events", "found", "false_alarms", "allowed", "any_found"]
    by_series = cells.groupby("series")[[f"{mode}_{name}" for name in names]].mean()
    by_series.columns = pd.Index(names)
    false, allowed = by_series["false_alarms"], by_series["allowed"]
    over = false > np.ceil(FACTOR * allowed)
    within = ~over & (false >= np.floor(allowed / FACTOR))
    at_budget, best = _nab([records[index] for index in cells.index], mode)
    return {
        "Events": by_series["events"].sum(),
        "Found": by_series["found"].sum(),
        "False events": false.sum(),
        "Budget": allowed.sum(),
        "False / budget": false.sum() / allowed.sum() if allowed.any() else float("nan"),
        "Within factor 3, %": PERCENT * within.mean(),
        "Over 3 times, %": PERCENT * over.mean(),
        "No true event, %": PERCENT * (1 - by_series["any_found"].mean()),
        "NAB, at the budget": at_budget,
        "NAB, one threshold": best,
        "UCR top-1, %": PERCENT
        * cells.loc[cells["dataset"] == UCR, f"{mode}_top_1"].astype(float).mean(),
    }


def _nab(records: Sequence[Record], mode: str) -> tuple[float, float]:
    """NAB's score of its series at the budget and under one threshold, mean over seeds."""
    found: dict[int, list[Record]] = {}
    for record in records:
        if record["dataset"] == NAB:
            found.setdefault(record["seed"], []).append(record["operator"][mode]["nab"])
    scores = []
    for parts in found.values():
        at_budget = sum((NabScore(each["raw"], each["windows"]) for each in parts), NabScore(0, 0))
        curves = [
            NabCurve(np.array(each["thresholds"]), np.array(each["raw_at"]), each["windows"])
            for each in parts
        ]
        scores.append((at_budget.normalised, best_nab(curves)[0].normalised))
    at_all, best = np.mean(scores, axis=0) if scores else (float("nan"), float("nan"))
    return float(at_all), float(best)
