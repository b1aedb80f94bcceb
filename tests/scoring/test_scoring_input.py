"""Known anomalies in rows or moments, and the channels that a model scores."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps.errors import InputError
from caps.scoring.input import read_channels, spans_of
from caps.series import read

YEAR = {"time": pd.date_range("2015-01-01", periods=365), "load": np.arange(365.0)}


def test_known_anomalies_are_rows_or_moments() -> None:
    known = [("2015-02-01", date(2015, 2, 3)), (5, "9"), (np.int64(0), 365)]
    assert spans_of(read(YEAR), known) == [(31, 33), (5, 9), (0, 365)]


@pytest.mark.parametrize(
    "span",
    [
        ("2015-02-01", "2599-11-20"),
        ("1500-01-01", "2015-02-01"),
        ("²", "3"),
        (True, 5),
        (0.5, 0.7),
        (None, 3),
        (1, "9" * 5000),
    ],
    ids=lambda span: str(span)[:40],
)
def test_spans_that_are_neither_are_refused(span: tuple[Any, Any]) -> None:
    with pytest.raises(InputError, match=r"the known anomaly at .* is no moment"):
        spans_of(read(YEAR), [span])


def test_a_model_scores_its_own_channels_whatever_else_a_table_holds() -> None:
    table = {"Label": [0, 1, 0], "load": [1.0, 2.0, 3.0], "note": ["x", 1, "y"]}
    assert read_channels(table, ("load",)).channels == ("load",)
    assert read_channels(table, ("load", "Label")).channels == ("load", "Label")
    with pytest.raises(InputError, match="fitted on load, heat, cold, the input has no heat, cold"):
        read_channels(table, ("load", "heat", "cold"))
    with pytest.raises(InputError, match="fitted on heat, the input has no heat"):
        read_channels(read({"load": [1.0, 2.0]}), ("heat",))
    with pytest.raises(InputError, match="there is no column 'stamp'"):
        read_channels(table, ("load",), time="stamp")
