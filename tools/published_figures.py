"""TSB-AD's published figures of every series, as its CSV files hold them."""

from pathlib import Path

import pandas as pd

_LENGTHS = ("ts_len", "anomaly_len", "num_anomaly", "avg_anomaly_len", "anomaly_ratio")
NO_METHOD = {*_LENGTHS, "point_anomaly", "seq_anomaly", "file"}


def published_methods(path: Path) -> pd.DataFrame:
    """A row for each file, a column for each method."""
    table = pd.read_csv(path).set_index("file")
    return table[[name for name in table.columns if name not in NO_METHOD]]
