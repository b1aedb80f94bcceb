"""From cells to means, ranks and counts: per dataset, over datasets, over seeds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

import pandas as pd

from caps.bench.cells import Record
from caps.bench.published import Kind
from caps.metrics import EventFigures

Part = Literal["test", "whole"]

# The paper's metrics in its order, with its names.
METRICS = {
    "affiliation_f": "Affiliation-F",
    "f1_t": "F1_T",
    "standard_f1": "Standard-F1",
    "vus_pr": "VUS-PR",
}
FLOORS = ("random", "constant", "ones")
UNRANKED = (*FLOORS, "caps-diagnosis")  # methods without knowledge, or told of the test part
# Those of TSB-AD 1.5 that CAPS has, in its order, with its names; thresholds are TSB-AD's.
FIELD_METRICS = {
    "auc_pr": "AUC-PR",
    "auc_roc": "AUC-ROC",
    "vus_pr": "VUS-PR",
    "vus_roc": "VUS-ROC",
    "standard_f1_tsb_ad": "Standard-F1",
    "affiliation_f_tsb_ad": "Affiliation-F",
}
# VUS by the newer rule for its window.
NEWER_METRICS = {"vus_pr_2026": "VUS-PR, window of 2026", "vus_roc_2026": "VUS-ROC, window of 2026"}
MORE_METRICS = ("f1_t_fixed", *(name for name in FIELD_METRICS if name not in METRICS))
# How alarms were raised, and their figures at a budget.
MODES = {"hindsight": "in hindsight", "live": "live"}
ALARMS = (*(each.name for each in fields(EventFigures)), "top_1")
KEY = ["method", "dataset", "series", "seed"]


def cell_frame(records: Iterable[Record], current: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A row for each cell; metrics are `test_...` and `whole_...`, empty where undefined.

    Figures at an alarm budget are `hindsight_...` and `live_...`.

    Methods with several settings are told apart by the hash of their settings; `current` are the
    hashes that keep the plain name.
    """
    frame = pd.DataFrame([_row(record) for record in records], columns=list(_row({})))
    settings = frame.groupby("method")["config"].transform("nunique")
    several = (settings > 1) & (frame["config"] != frame["method"].map(dict(current or {})))
    frame.loc[several, "method"] += "@" + frame.loc[several, "config"]
    return frame


def kinds_in(frame: pd.DataFrame) -> dict[Kind, pd.DataFrame]:
    """The cells by kind of series. Cells whose series could not be read go by their dataset."""
    channels = frame.groupby("dataset")["channels"].transform("max")
    parts: dict[Kind, pd.DataFrame] = {
        "univariate": frame[~(channels > 1)],
        "multivariate": frame[channels > 1],
    }
    return {kind: part for kind, part in parts.items() if len(part)}


def on_common_series(frame: pd.DataFrame) -> pd.DataFrame:
    """Only the series that every method has finished with every seed."""
    done = frame[frame["status"] == "done"]
    wanted = len(frame[["method", "seed"]].drop_duplicates())
    finished = done.drop_duplicates(["series", "method", "seed"]).groupby("series").size()
    return frame[frame["series"].isin(finished.index[finished == wanted])]


@dataclass(frozen=True, slots=True)
class Summary:
    """Rows are (metric, method), columns datasets; in percent, over the series of each dataset."""

    mean: pd.DataFrame  # over seeds
    deviation: pd.DataFrame  # over seeds; empty cells for a single seed
    rank: pd.DataFrame  # 1 is best, ties averaged; ranked methods only
    min_rank: pd.DataFrame  # 1 is best, ties all get the better rank

    @property
    def methods(self) -> list[str]:
        """In order of name."""
        return list(self.mean.index.unique("method"))

    @property
    def datasets(self) -> list[str]:
        """In order of name."""
        return list(self.mean.columns)


def summarize(frame: pd.DataFrame, part: Part) -> Summary:
    """Mean over series, then over seeds; ranks per dataset and metric among ranked methods."""
    columns = {f"{part}_{metric}": metric for metric in METRICS}
    done = frame[frame["status"] == "done"].rename(columns=columns)
    metrics = list(METRICS)
    by_seed = 100 * done.groupby(["method", "dataset", "seed"])[metrics].mean()
    over_seeds = by_seed.groupby(["method", "dataset"])
    return summary_of(_wide(over_seeds.mean()), _wide(over_seeds.std(ddof=1)))


def summary_of(mean: pd.DataFrame, deviation: pd.DataFrame | None = None) -> Summary:
    """The summary of means that are there already, such as the paper's."""
    names = mean.index.get_level_values("method")
    known = [str(name).partition("@")[0] not in UNRANKED for name in names]
    ranked = mean[known].groupby(level="metric")
    return Summary(
        mean=mean,
        deviation=mean * float("nan") if deviation is None else deviation,
        rank=ranked.rank(ascending=False, method="average"),
        min_rank=ranked.rank(ascending=False, method="min"),
    )


def overall(summary: Summary) -> pd.DataFrame:
    """A row for each method: score and rank of each metric, Avg.R, T1 and T2.

    A method that lacks a dataset has no mean over datasets: it would be one over other datasets.
    """
    table = pd.DataFrame(index=pd.Index(summary.methods, name="method"))
    for metric in METRICS:
        table[metric] = of_metric(summary.mean, metric).mean(axis=1, skipna=False)
        ranks = of_metric(summary.rank, metric)
        table[f"{metric}_rank"] = ranks.mean(axis=1, skipna=False)
    table["avg_rank"] = table[[f"{metric}_rank" for metric in METRICS]].mean(axis=1, skipna=False)
    for count, best in (("t1", 1), ("t2", 2)):
        hits = (summary.min_rank <= best).groupby(level="method").sum().sum(axis=1)
        table[count] = hits.reindex(table.index)
    return table


def of_metric(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The rows of one metric, by method."""
    return frame[frame.index.get_level_values("metric") == metric].droplevel("metric")


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    """(method, dataset) rows with metric columns, as (metric, method) rows with dataset columns."""
    frame.columns.name = "metric"
    stacked = frame.stack(future_stack=True)
    assert isinstance(stacked, pd.Series)
    wide = stacked.unstack("dataset").reorder_levels(["metric", "method"])
    order = [
        (metric, method) for metric in METRICS for method in sorted(frame.index.unique("method"))
    ]
    return wide.reindex(pd.MultiIndex.from_tuples(order, names=["metric", "method"]))


_FACTS = (
    "config",
    "status",
    "channels",
    "rows",
    "cpu_seconds",
    "peak_memory_mb",
    "error",
    "failure",
    "filled_values",
)
_RESULTS = [
    *(
        (part, name)
        for part in ("test", "whole")
        for name in ("undefined", *METRICS, *MORE_METRICS, *NEWER_METRICS)
    ),
    *((part, name) for part in ("test", "whole") for name in ("window", "window_2026")),
    ("test", "top_1"),
    *((mode, name) for mode in MODES for name in ("undefined", *ALARMS)),
]


def _row(record: Record) -> dict[str, object]:
    seconds = record.get("seconds", {})
    parts = {**record, **record.get("operator", {})}
    return {
        **{name: record.get(name) for name in (*KEY, *_FACTS)},
        "fit_seconds": seconds.get("fit"),
        "score_seconds": seconds.get("score"),
        **{f"{part}_{name}": parts.get(part, {}).get(name) for part, name in _RESULTS},
    }
