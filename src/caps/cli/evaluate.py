"""`caps evaluate`: the metrics of a file with scores and labels."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from caps.errors import InputError
from caps.metrics import Evaluation, Floors, Protocol, floors
from caps.metrics import evaluate as evaluate_scores

if TYPE_CHECKING:
    import pandas as pd

# Name on screen and whether its threshold was chosen with the labels in hand.
ROWS = {
    "vus_pr": ("VUS-PR", False),
    "vus_roc": ("VUS-ROC", False),
    "auc_pr": ("AUC-PR", False),
    "auc_roc": ("AUC-ROC", False),
    "standard_f1": ("Standard-F1", True),
    "f1_t": ("F1_T (as published)", True),
    "f1_t_fixed": ("F1_T (corrected)", True),
    "affiliation_f": ("Affiliation-F", True),
}
SWEEPS = {
    "caps": "best of 1,500 score quantiles",
    "tsb-ad": "best of TSB-AD's own thresholds",
}


def evaluate(
    file: Path,
    *,
    score: str,
    label: str,
    value: str | None = None,
    window: int | None = None,
    protocol: Protocol = "caps",
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Print the metrics of anomaly scores against 0/1 labels.

    Parameters
    ----------
    file
        CSV or Parquet file with one row per point, in time order.
    score
        Column of anomaly scores, higher is more anomalous.
    label
        Column of labels, 1 is anomalous and 0 is normal.
    value
        Column of the series itself; its period becomes the VUS window.
    window
        VUS window in points. Without it and without --value: 100, as TSB-AD.
    protocol
        caps: 1,500 score quantiles as thresholds, as the paper. tsb-ad: TSB-AD 1.5's choices.
    json_output
        Print JSON, null where a metric is undefined.
    """
    frame = read_columns(file, [name for name in (score, label, value) if name is not None])
    labels = frame[label].to_numpy()
    series = None if value is None else frame[value].to_numpy()
    result = evaluate_scores(
        frame[score].to_numpy(), labels, protocol=protocol, window=window, series=series
    )
    if not (labels == 1).any():
        raise InputError(
            f"column {label!r} marks no point as anomalous, so every metric is undefined",
            "name the column that holds the labels, or leave this file out",
        )
    if json_output:
        print(json.dumps(result.as_dict()))
    else:
        origin = "given" if window is not None else f"period of {value!r}" if value else "default"
        floor = floors(labels, protocol=protocol, window=result.window)
        print_evaluation(result, floor, window_origin=origin)


def read_columns(file: Path, columns: list[str]) -> "pd.DataFrame":
    """Read the named columns of a CSV or Parquet file."""
    import pandas as pd

    if not file.is_file():
        raise InputError(f"there is no file {file}", "check the path")
    try:
        read = pd.read_parquet if file.suffix in (".parquet", ".pq") else pd.read_csv
        frame = read(file)
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow", "pip install 'caps-tsad[parquet]' or give a CSV file"
        ) from None
    except (ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{file} cannot be read as a table ({reason})",
            "give a CSV file with a header line, in UTF-8, or a Parquet file",
        ) from None
    for name in columns:
        if name not in frame.columns:
            present = ", ".join(map(str, frame.columns))
            raise InputError(f"{file} has no column {name!r}", f"choose one of: {present}")
    return frame


def print_evaluation(result: Evaluation, floor: Floors, *, window_origin: str) -> None:
    """Print every metric beside what scores without knowledge get on the same labels."""
    from rich.console import Console
    from rich.table import Table

    print(f"protocol {result.protocol}, VUS window {result.window} ({window_origin})")
    table = Table("metric", "value", "random", "constant", "all ones", "threshold")
    for name, (title, is_oracle) in ROWS.items():
        columns = (result, floor.random, floor.constant, floor.all_ones)
        numbers = [_readable(getattr(column, name)) for column in columns]
        table.add_row(title, *numbers, "oracle" if is_oracle else "none")
    console = Console()
    console.print(table)
    console.print(
        "random, constant, all ones: what scores without knowledge get on these labels.\n"
        f"oracle: {SWEEPS[result.protocol]}, chosen with the labels in hand.",
        style="dim",
    )


def _readable(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.4f}"
