"""UCR's own figure: how often the highest score of a series is at its one anomaly."""

import numpy as np
import pandas as pd

from caps.bench.bootstrap import COVERAGE, DRAWS, mean_figure, over_series
from caps.bench.published import Kind
from caps.bench.rendering import Entry, Table
from caps.bench.summary import FLOORS

NOTE = (
    "In percent of the series of UCR: the highest score of the test part lies within the event or "
    "no farther than its length or 100 rows, whichever is more. Of equal highest scores the first "
    "counts. Whole archive (250 series), published: TimeVQVAE-AD 70.8, matrix profile (stumpy) "
    f"51.2. In brackets: {COVERAGE} % bootstrap interval over series ({DRAWS:,} draws)."
)


def top_1_tables(frame: pd.DataFrame, kind: Kind) -> list[Table]:
    """A table of the methods that have series of UCR, the best first; none without any."""
    known = frame[(frame["status"] == "done") & frame["test_top_1"].notna()]
    known = known[~known["method"].isin(FLOORS[1:])]  # equal scores have no highest one
    if known.empty:
        return []
    rates = known.assign(rate=100 * known["test_top_1"].astype(float))
    by_series = rates.groupby(["method", "series"])["rate"].mean()
    order = by_series.groupby("method").mean().sort_values(ascending=False, kind="stable")
    rows: list[list[Entry]] = []
    for method in order.index:
        own = by_series.loc[method]
        datasets = pd.Series("UCR", index=own.index)
        shown = mean_figure(own.to_numpy(np.float64), datasets, over_series, digits=1)
        rows.append([str(method), shown, str(len(own))])
    header = ["Method", "Top-1 accuracy, %", "Series"]
    return [Table(f"ucr_top_1_{kind}", f"UCR top-1 accuracy, {kind}", header, rows, [NOTE])]
