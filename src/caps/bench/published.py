"""Numbers that others published, to stand beside ours: the paper's tables, TSB-AD's per series."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pandas as pd

from caps.errors import InputError

Kind = Literal["univariate", "multivariate"]

PAPER_SAYS = "paper: its own figures, own data selection"
# Whose figures of the paper stand beside ours; of the first three only `caps-paper` is the paper's
# configuration, and Diagnosis is that of `caps-small`.
PAPER_NAMES = {
    "caps": "CAPS",
    "caps-small": "CAPS",
    "caps-paper": "CAPS",
    "caps-diagnosis": "CAPS(Diagnosis)",
    "lof": "LOF",
    "iforest": "IForest",
    "omnianomaly": "OmniAnomaly",
    "tranad": "TranAD",
    "usad": "USAD",
    "anomaly-transformer": "AnomTrans.",
    "timesnet": "TimesNet",
    "fits": "FITS",
    "tcn-ae": "TCN-AE",
    "tcn-injection": "TCN-Injection",
    "tcn-supervised": "TCN-Supervised",
    "tcn-forecast": "TCN-Forecast",
}
AS_TSB_AD = "-tsb"  # end of the names of methods that are run as TSB-AD runs them
# Peers that the paper and TSB-AD run with the same settings: one name is enough.
SAME_SETTINGS = frozenset({"usad", "tranad", "anomaly-transformer", "timesnet", "fits"})
# What is run with the settings of what is on TSB-AD's leaderboard.
AS_PUBLISHED = SAME_SETTINGS | {"kmeansad-tab"}
# Whose figures were submitted with the rule of 2026 for the VUS window.
NEWER_WINDOW = frozenset({"kmeansad-tab", "mmpad-tsb"})
# What TSB-AD calls them for several channels, where that differs.
SEVERAL_CHANNELS = {"sub-pca-tsb": "pca", "sub-knn-tsb": "knn"}
VUS_PR = "VUS-PR"  # its column in a file of TSB-AD's leaderboard
# Columns of a table of VUS-PR that say what the series are like.
NO_METHOD = frozenset(
    {"ts_len", "anomaly_len", "num_anomaly", "avg_anomaly_len", "anomaly_ratio"}
    | {"point_anomaly", "seq_anomaly"}
)


def paper_figures(kind: Kind) -> pd.DataFrame:
    """The paper's dataset means in percent: rows (metric, method), a column for each dataset."""
    return _table(f"{kind}.csv")


def paper_deviations() -> pd.DataFrame:
    """Standard deviations over the paper's five runs, for CAPS and the TCN references."""
    return _table("univariate_std.csv")


def paper_studies() -> pd.DataFrame:
    """The paper's figures of its studies in percent, by study, label and dataset."""
    return _table("studies.csv", ["study", "label", "dataset"])


def paper_name(method: str, kind: Kind) -> str | None:
    """What the paper calls a method of ours; None if it has no figures of it."""
    name = PAPER_NAMES.get(method)
    return "CAPS (Max)" if name == "CAPS" and kind == "multivariate" else name


def read_series_figures(path: Path) -> pd.DataFrame:
    """Published VUS-PR of whole series: a row for each file, a column for each method.

    Also read from a file of TSB-AD's leaderboard, which holds the metrics of one method, named as
    the file is.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist", "name TSB-AD's CSV file of VUS-PR per series")
    try:
        table = pd.read_csv(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is no CSV file ({error})", "give one with a column 'file'"
        ) from None
    if "file" not in table.columns:
        raise InputError(f"{path} has no column 'file'", "name the series in a column 'file'")
    figures = table.drop_duplicates("file").set_index("file")
    if VUS_PR in figures.columns:
        return figures[[VUS_PR]].rename(columns={VUS_PR: path.stem})
    return figures[[name for name in figures.columns if name not in NO_METHOD]]


def series_figures(method: str, figures: pd.DataFrame) -> "pd.Series[float] | None":
    """Published figures of a method of ours that is run as it was there; None if it has none."""
    if not method.endswith(AS_TSB_AD) and method not in AS_PUBLISHED:
        return None
    names = {_plain(str(column)): column for column in figures.columns}
    wanted = (_plain(method.removesuffix(AS_TSB_AD)), SEVERAL_CHANNELS.get(method, ""))
    columns = [names[name] for name in wanted if name in names]
    return figures[columns].bfill(axis=1).iloc[:, 0] if columns else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _table(name: str, index: Sequence[str] = ("metric", "method")) -> pd.DataFrame:
    with (files("caps.bench") / "paper" / name).open(encoding="utf-8") as stream:
        return pd.read_csv(stream, index_col=list(index))
