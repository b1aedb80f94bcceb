"""Both aggregations of the whole of CAPS on labelled series of many channels.

Detectors are fitted once; the two aggregations combine their evidence.
"""

import time
from collections import defaultdict
from dataclasses import dataclass, replace

import pandas as pd

from caps import CAPS
from caps.bench.datasets import SeriesFile
from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import MULTIVARIATE, Report, StudyRun
from caps.metrics import acf_window, evaluate
from caps.scoring import LearnedChannel
from tools.published.figures import published_methods
from tools.series_files import read_table

SHOWN = 3  # contributions
PAPER = {"MSL": "40.2 / 31.9", "SMAP": "39.5 / 35.0"}
HEADER = ["series", "learned", "fit (CPU)", "VUS-PR max", "top5", "events", "strongest event"]


@dataclass(frozen=True)
class Measured:
    """One series by both aggregations."""

    file: SeriesFile
    vus_pr: tuple[float, float]  # max, top5; of the whole series, window by TSB-AD's rule
    row: list[Entry]


def aggregation(run: StudyRun) -> Report:
    """Means of the datasets beside the paper's and the best published, and every series."""
    files = run.needed(datasets=MULTIVARIATE, most=1)
    measured = []
    for file in files:
        run.say(file.name)
        measured.append(_measure(file, run))
    published = None if run.published is None else published_methods(run.published)
    tables = [
        Table(
            "multivariate",
            "Means of the datasets, percent",
            ["dataset", "series", "max / top5", "paper's max / top5", "best published"],
            _means(measured, published),
        ),
        Table("multivariate: series", "Series", HEADER, [each.row for each in measured]),
    ]
    return Report(
        "Aggregation over channels",
        ["VUS-PR of the whole series, window by TSB-AD's rule; published on the same series."],
        tables,
    )


def _measure(file: SeriesFile, run: StudyRun) -> Measured:
    table, labels = read_table(file)
    model = CAPS(train=file.train, pretrained=run.pretrained, detector="auto")
    start = time.process_time()
    model.fit(table)
    seconds = time.process_time() - start
    window = acf_window(table.to_numpy())
    analysis = model.analyze(table)
    top5 = replace(model.fitted_, aggregate="top5").score(analysis.grid).score[analysis.rows]
    graded = [
        evaluate(scores, labels.to_numpy().astype(int), window=window).vus_pr
        for scores in (analysis.score, top5)
    ]
    learned = sum(isinstance(channel, LearnedChannel) for channel in model.fitted_.channels)
    strongest = "no event"
    if analysis.events:
        number = max(range(len(analysis.events)), key=lambda n: analysis.events[n].score)
        shares = list(analysis.explain(number + 1).contributions.items())[:SHOWN]
        strongest = ", ".join(f"{name} {share:.0%}" for name, share in shares)
    row: list[Entry] = [
        _short(file.name),
        f"{learned} of {table.shape[1]}",
        f"{seconds:.0f} s",
        *(figure(value, digits=3) for value in graded),
        str(len(analysis.events)),
        strongest,
    ]
    return Measured(file, (graded[0], graded[1]), row)


def _means(measured: list[Measured], published: pd.DataFrame | None) -> list[list[Entry]]:
    by_dataset: dict[str, list[Measured]] = defaultdict(list)
    for each in measured:
        by_dataset[each.file.dataset].append(each)
    rows: list[list[Entry]] = []
    for dataset, group in by_dataset.items():
        ours = [100 * sum(each.vus_pr[k] for each in group) / len(group) for k in (0, 1)]
        best = "-"
        if published is not None:
            names = {_short(each.file.name) for each in group}
            theirs = 100 * published[published.index.map(_short).isin(names)].mean()
            two = theirs.sort_values(ascending=False).iloc[:2]
            best = ", ".join(f"{name} {value:.1f}" for name, value in two.items())
        pair = f"{ours[0]:.1f} / {ours[1]:.1f}"
        rows.append([dataset, str(len(group)), pair, PAPER.get(dataset, "-"), best])
    return rows


def _short(name: str) -> str:
    """Without what files of one series are called differently by."""
    return name.split("_Sensor")[0]
