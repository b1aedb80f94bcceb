"""Small labelled series as TSB-AD stores them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

WriteSeries = Callable[..., str]


def write_series(
    data: Path,
    dataset: str = "NAB",
    number: int = 1,
    *,
    rows: int = 600,
    train: int = 300,
    channels: int = 1,
    anomaly: tuple[int, int] | None = (450, 470),
) -> str:
    """Write one series in the layout of TSB-AD and return its file name."""
    rng = np.random.default_rng(number)
    wave = np.sin(np.arange(rows) * 2 * np.pi / 25)[:, None]
    values = wave + 0.1 * rng.standard_normal((rows, channels))
    labels = np.zeros((rows, 1))
    if anomaly is not None:
        values[slice(*anomaly)] += 3
        labels[slice(*anomaly)] = 1
    first = anomaly[0] if anomaly else 0
    name = f"{number:03d}_{dataset}_id_{number}_Facility_tr_{train}_1st_{first}.csv"
    header = ",".join([*(f"ch_{each}" for each in range(channels)), "Label"])
    table = np.hstack([values, labels])
    form = ["%.6f"] * channels + ["%d"]
    np.savetxt(data / name, table, fmt=form, delimiter=",", header=header, comments="")
    return name
