"""Anomalies among the references: added on purpose, and those that were there all along."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from caps.artifacts import replacing
from caps.bench.datasets import SeriesFile, labelled_spans, load_series
from caps.bench.rendering import frame_table
from caps.bench.studies.comparison import Row
from caps.bench.studies.detection import Plan, carry_out
from caps.bench.studies.drawing import draw_curves, draw_stacks
from caps.bench.studies.study import Report, StudyRun
from caps.bench.studies.variants import (
    DONORS,
    FEW_REFERENCES,
    PREFIX,
    REFERENCES,
    scaled_channel,
    series_mark,
)
from caps.errors import InputError
from caps.recover import known_windows, reference_windows, trim_references

LEVELS = (0, 1, 2, 5, 10, 20, 30)
QUICK_LEVELS = (0, 10, 30)
KPI = ("KPI", "IOPS")
QUICK_KPI = (
    "KPI_301c70d8-1630-35ac-8f96-bc1b6f4359ea_test_tr_1483_1st_1583.csv",
    "KPI_54350a12-7a9d-3ca8-b81f-f886b9d156fd_test_tr_500_1st_590.csv",
)
MOST_DONATED = 200  # windows of one series
SHARES = {
    "points": "Points, %",
    "windows": "References, %",
    "anomalous_distrusted": "Anomalous points distrusted, %",
    "normal_distrusted": "Normal points distrusted, %",
}
# Of the paper's text: what its training parts hold.
PAPER_NATURAL = {
    "YAHOO": "122 of 259 files; 0.299 % of points",
    "NEK": "3.17 % of points",
    "TODS": "about 74 % of windows; 3.66 % of points",
    "IOPS": "close to none",
}


def contamination(run: StudyRun) -> Report:
    """0 to 30 % of 100 references are anomalous windows of other KPI series."""
    levels = QUICK_LEVELS if run.quick else LEVELS
    rows = [
        Row(
            f"{level}%{note}",
            f"{PREFIX}references-{level}{trimmed}",
            None if level == 0 else f"0%{note}",
            paper=f"{level}%",
        )
        for trimmed, note in (("", ""), ("-trimmed", ", trimmed"))
        for level in levels
    ]
    plan = Plan(
        "Robustness to reference contamination",
        rows,
        f"{FEW_REFERENCES} references of each KPI series; a share of them is replaced by windows "
        "around anomalies of the test parts of the other series, taken as normal. Trimmed: CAPS "
        "distrusts what has no likeness among the references, as the estimator does; the paper has "
        "no such step.",
        datasets=KPI,
        quick=QUICK_KPI,
    )
    _donate(run, run.needed(datasets=plan.datasets, quick=plan.quick))
    report, compared = carry_out("contamination", plan, run)
    as_they_are, trimmed = rows[: len(levels)], rows[len(levels) :]
    curves = {
        "as they are": compared.curve(as_they_are),
        "trimmed": compared.curve(trimmed),
        "paper, as they are": compared.paper_curve(as_they_are),
    }
    across = "contaminated references, percent"
    picture = draw_curves(levels, curves, across=across, up="VUS-PR, percent")
    figures = {"VUS-PR by share of contaminated references.": picture, **report.figures}
    return replace(report, figures=figures, facts={**report.facts, "levels": list(levels)})


def natural_contamination(run: StudyRun) -> Report:
    """How many references of each dataset hold anomalies, and how many of those are trimmed."""
    series = replace(run, quick=False).needed()
    if run.quick:
        series = _some_of_each(series, 4)
    found: list[dict[str, Any]] = []
    for file in series:
        run.say(f"references of {file.name}")
        key = {"series": file.name, "train": file.train, "limit": REFERENCES, "seeds": [0]}
        facts = run.kept("natural-contamination", key, partial(_measured, file))
        found.append({"dataset": file.dataset, **facts})
    by_dataset = pd.DataFrame(found).astype(dict.fromkeys(SHARES, float)).groupby("dataset")
    means = 100 * by_dataset[[*SHARES]].mean()
    affected = by_dataset["points"].agg(lambda points: (points > 0).sum())
    files = by_dataset.size()
    shown = means.rename(columns=SHARES)
    shown.insert(0, "Files with any", affected.astype(str) + " of " + files.astype(str))
    shown["Paper"] = [PAPER_NATURAL.get(str(name), "") for name in means.index]
    note = (
        "Means over files. References: windows of 256 rows with at least one anomalous row. "
        "Distrusted: by trimming; of anomalous and of normal points of the references."
    )
    title = "Anomalies in the training parts"
    picture = draw_stacks(
        list(means.index),
        {"hold an anomaly": means["windows"].to_list()},
        across="references, percent",
    )
    verdict = []
    if "TODS" in means.index:
        share = float(means["windows"]["TODS"])
        says = "as the paper says" if abs(share - 74) < 10 else "**not** the paper's about 74 %"
        verdict.append(f"TODS: {share:.0f} % of the references hold an anomaly, {says}.")
    if "YAHOO" in means.index:
        share = 100 * affected["YAHOO"] / files["YAHOO"]
        verdict.append(
            f"YAHOO: {share:.0f} % of {files['YAHOO']} files have anomalies in training "
            f"(paper: {100 * 122 / 259:.0f} % of 259)."
        )
    return Report(
        "Contamination of references",
        ["No detector is trained. Labels of the training part are used to count, nothing else."],
        [frame_table("natural_contamination", title, shown, "Dataset", {}, [note])],
        verdict or ["The paper gives no figures of these datasets."],
        {"References that hold an anomaly.": picture},
        {"files": len(series)},
    )


def _measured(file: SeriesFile) -> dict[str, Any]:
    series = load_series(file)
    marks = series.labels[: series.train].astype(bool)
    rng = np.random.default_rng(0)
    scaled = scaled_channel(series)[: series.train]
    references = reference_windows(scaled, limit=REFERENCES, rng=rng)
    trimmed = trim_references(references, rng=rng)
    labelled, still = references.labels(marks), trimmed.labels(marks)
    return {
        "points": float(marks.mean()),
        "windows": float(labelled.any(axis=1).mean()),
        "anomalous_distrusted": _distrusted(still, trimmed.trusted, labelled),
        "normal_distrusted": _distrusted(~still, trimmed.trusted, ~labelled),
    }


def _distrusted(points: np.ndarray, trusted: np.ndarray, all_points: np.ndarray) -> float | None:
    """Share of all points that are no longer trusted, in references that stayed or were dropped."""
    whole = int(all_points.sum())
    return None if whole == 0 else 1 - float((points & trusted).sum()) / whole


def _donate(run: StudyRun, series: Sequence[SeriesFile]) -> None:
    """Keep scaled windows around the test anomalies of every series, for the others to take."""
    if len(series) < 2:
        raise InputError("one KPI series has no other to take anomalies from", "give two or more")
    windows, origin = [], []
    for file in series:
        loaded = load_series(file)
        anomalies = labelled_spans(loaded.labels, loaded.train)
        if not anomalies:
            continue
        found = known_windows(scaled_channel(loaded), anomalies)[0]
        if len(found) > MOST_DONATED:
            rng = np.random.default_rng(0)
            found = found[np.sort(rng.choice(len(found), MOST_DONATED, replace=False))]
        windows.append(found)
        origin += [series_mark(loaded.values[: loaded.train])] * len(found)
    path = run.out / "kept" / DONORS
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, windows=np.concatenate(windows), origin=np.array(origin))


def _some_of_each(files: Sequence[SeriesFile], most: int) -> list[SeriesFile]:
    taken: dict[str, list[SeriesFile]] = {}
    for file in files:
        taken.setdefault(file.dataset, []).append(file)
    return [
        each for group in taken.values() for each in group[:: max(1, len(group) // most)][:most]
    ]
