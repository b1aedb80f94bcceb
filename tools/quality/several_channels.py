"""CAPS on labelled series of several channels: accuracy, and which channels carry an event.

Every series is fitted and scored once, and its figures are kept: a run that was stopped goes on.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from caps import CAPS
from caps.bench.bootstrap import mean_figure, over_series
from caps.bench.datasets import SeriesFile
from caps.bench.published import read_series_figures
from caps.bench.rendering import Entry, Table, figure, frame_table
from caps.bench.studies.study import MULTIVARIATE, Report, StudyRun
from caps.metrics import acf_window, hit_rate, vus
from tools.series_files import path_of, read_table

SERVERS = ("ASD",)  # labelled like the others, but not of TSB-AD
CAUSES = "root-causes.csv"  # beside the series: rows `start` to `end`, names of channels
SHARES = {"100": 1.0, "150": 1.5}  # of as many channels as caused an event
SHOWN = 3  # contributions
BEST = 3  # published methods
WANTED = 0.6  # HitRate@150%


def several_channels(run: StudyRun) -> Report:
    """Means beside the best published ones, attribution beside z-scores, and every series."""
    files = run.needed(datasets=(*MULTIVARIATE, *SERVERS), most=1)
    kept = []
    for file in files:
        run.say(file.name)
        key = {"file": file.name, "train": file.train}
        kept.append(run.kept("several-channels", key, partial(measure_series, file)))
    table = pd.DataFrame(kept)
    published = None if run.published is None else read_series_figures(run.published)
    hits = _hits(table)
    header = ["events", "CAPS @100%", "@150%", "z-score @100%", "@150%"]
    title = "HitRate of the channels that carry labelled events"
    tables = [
        Table(
            "multivariate",
            "Means, percent",
            ["series", "number", "CAPS", "best published", "ahead of the first by"],
            _means(table, published),
        ),
        frame_table(
            "multivariate: attribution", title, hits.set_axis(header, axis=1), "dataset", {}, []
        ),
        Table(
            "multivariate: series",
            "Series",
            ["series", "joint of", "VUS-PR", "fit, score (CPU)", "events", "strongest event"],
            [_series_row(each) for each in kept],
        ),
    ]
    worst = float(hits["caps 150"].min()) if len(hits) else 1.0
    return Report(
        "Several channels",
        [
            "VUS-PR of the whole series, window by TSB-AD's rule; published on the same series. "
            "HitRate@100% looks at as many channels as caused an event, @150% at half as many "
            "more; mean over events. z-score: mean distance from training in its stds."
        ],
        tables,
        wanted=f"HitRate@150% of at least {WANTED}; at the worst it is {worst:.2f}",
        passed=worst >= WANTED,
    )


def measure_series(file: SeriesFile) -> dict[str, Any]:
    """Accuracy, hit rates, seconds and the strongest event of one series."""
    table, labels = read_table(file)
    seconds = [time.process_time()]
    model = CAPS(train=file.train).fit(table)
    seconds.append(time.process_time())
    analysis = model.analyze(table)
    seconds.append(time.process_time())
    window, truth = acf_window(table.to_numpy()), labels.to_numpy().astype(int)
    joint = model.fitted_.joint
    strongest = max(analysis.events, key=lambda event: event.score, default=None)
    leading = {} if strongest is None else dict(list(strongest.contributions.items())[:SHOWN])
    hits = []
    for start, end, causes in causes_of(file):
        share = analysis.scores.of_event(start, end)
        rankings = {
            "caps": _ranked(share, table.columns),
            "z": _ranked(z_scores(table.to_numpy(), file.train, start, end), table.columns),
        }
        hits.append(
            {
                f"{name} {percent}": hit_rate(ranking, causes, part)
                for name, ranking in rankings.items()
                for percent, part in SHARES.items()
            }
        )
    return {
        "name": file.name,
        "dataset": file.dataset,
        "channels": table.shape[1],
        "joint": 0 if joint is None else len(joint.columns),
        "vus_pr": float(vus(analysis.score, truth, window=window).pr),
        "fit": seconds[1] - seconds[0],
        "score": seconds[2] - seconds[1],
        "events": len(analysis.events),
        "strongest": leading,
        "hits": hits,
    }


def causes_of(file: SeriesFile) -> list[tuple[int, int, list[str]]]:
    """Rows [start, end) of the labelled events of a series and the channels that cause each."""
    path = path_of(file).parent / CAUSES
    if not path.is_file():
        return []
    listed = pd.read_csv(path.open("rb"))
    own = listed[listed.file == file.name]
    rows = zip(own.start, own.end, own.channels, strict=True)
    return [(int(start), int(end) + 1, channels.split()) for start, end, channels in rows]


def z_scores(values: np.ndarray, train: int, start: int, end: int) -> np.ndarray:
    """Mean distance of each channel from the mean of training in the rows, in its stds there."""
    learned = values[:train]
    std = np.maximum(learned.std(axis=0), 1e-9)
    return np.asarray((np.abs(values[start:end] - learned.mean(axis=0)) / std).mean(axis=0))


def _ranked(weight: np.ndarray, names: Sequence[str]) -> list[str]:
    return [names[at] for at in np.argsort(-weight, kind="stable")]


def _means(table: pd.DataFrame, published: pd.DataFrame | None) -> list[list[Entry]]:
    """Of every dataset, and of all series for which there are published figures."""
    groups = {name: group for name, group in table.groupby("dataset")}
    if published is not None:
        listed = table[table.name.isin(published.index)]
        groups["on TSB-AD's evaluation list"] = listed
    rows: list[list[Entry]] = []
    for name, group in groups.items():
        ours = mean_figure(100 * group.vus_pr.to_numpy(), group.dataset, over_series, digits=1)
        best: Entry = "-"
        ahead: Entry = "-"
        there = [] if published is None else group.name[group.name.isin(published.index)].tolist()
        if published is not None and there:
            theirs = 100 * published.loc[there].mean()
            first = theirs.sort_values(ascending=False).iloc[:BEST]
            best = ", ".join(f"{method} {value:.1f}" for method, value in first.items())
            shared = group.set_index("name").loc[there]
            difference = 100 * (shared.vus_pr - published.loc[there, first.index[0]])
            ahead = mean_figure(difference.to_numpy(), shared.dataset, over_series, digits=1)
        rows.append([str(name), str(len(group)), ours, best, ahead])
    return rows


def _hits(table: pd.DataFrame) -> pd.DataFrame:
    """How many events every dataset with causes has, and the means of their rates."""
    events = table[["dataset", "hits"]].explode("hits").dropna()
    columns = [f"{name} {percent}" for name in ("caps", "z") for percent in SHARES]
    rates = pd.DataFrame(events.hits.tolist(), index=events.dataset, columns=columns)
    of_dataset = rates.groupby(level=0)
    means = of_dataset.mean()
    means.insert(0, "events", of_dataset.size().astype(str))
    return means


def _series_row(each: Mapping[str, Any]) -> list[Entry]:
    leading = ", ".join(f"{name} {share:.0%}" for name, share in each["strongest"].items())
    return [
        "_".join(each["name"].split("_")[:4]),
        f"{each['joint']} of {each['channels']}",
        figure(each["vus_pr"], digits=3),
        f"{each['fit']:.0f} s, {each['score']:.0f} s",
        str(each["events"]),
        leading or "no event",
    ]
