"""`caps evaluate`: the metrics of a file with scores and labels."""

import json
import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from caps.cli.options import Flag
from caps.errors import InputError
from caps.metrics import Evaluation, Floors, Protocol, evaluate as evaluate_scores, floors
from caps.series import read

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
SWEEPS = {"caps": "best of 1,500 score quantiles", "tsb-ad": "best of TSB-AD's own thresholds"}


def evaluate(
    file: Path,
    *,
    score: str,
    label: str,
    value: str | None = None,
    window: int | None = None,
    protocol: Protocol = "caps",
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    json_output: Annotated[Flag, Parameter(name="--json")] = False,
) -> None:
    """Print the metrics of anomaly scores against 0/1 labels.

    Args:
        file: CSV or Parquet file with one row per point, in time order.
        score: Column of anomaly scores, higher is more anomalous.
        label: Column of labels, 1 is anomalous and 0 is normal.
        value: Column of the series itself; its period becomes the VUS window.
        window: VUS window in points. Without it and without --value: 100, as TSB-AD.
        protocol: caps: 1,500 score quantiles as thresholds, as the paper. tsb-ad: TSB-AD 1.5's
            choices.
        delimiter: Between the columns of a CSV file; recognised if left out.
        decimal: Decimal mark of a CSV file.
        encoding: Encoding of a CSV file.
        json_output: Print JSON, null where a metric is undefined.
    """
    names = dict.fromkeys(name for name in (score, label, value) if name is not None)
    # Scores belong to rows, not to moments: no time column is looked for or checked.
    table = read(
        file, columns=names, time=False, delimiter=delimiter, decimal=decimal, encoding=encoding
    )
    columns = dict(zip(table.channels, table.values.T, strict=True))
    labels = columns[label]
    series = None if value is None else columns[value]
    result = evaluate_scores(
        columns[score], labels, protocol=protocol, window=window, series=series
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


def print_evaluation(result: Evaluation, floor: Floors, *, window_origin: str) -> None:
    """Print every metric beside what scores without knowledge get on the same labels."""
    print(f"protocol {result.protocol}, VUS window {result.window} ({window_origin})")
    table = Table("metric", "value", "random", "constant", "all ones", "threshold")
    for name, (title, is_oracle) in ROWS.items():
        columns = (result, floor.random, floor.constant, floor.all_ones)
        values = [getattr(column, name) for column in columns]
        numbers = ["undefined" if math.isnan(value) else f"{value:.4f}" for value in values]
        table.add_row(title, *numbers, "oracle" if is_oracle else "none")
    console = Console()
    console.print(table)
    console.print(
        "random, constant, all ones: what scores without knowledge get on these labels.\n"
        f"oracle: {SWEEPS[result.protocol]}, chosen with the labels in hand.",
        style="dim",
    )
