"""Where comparing stops is said in the units of the user."""

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.scoring.remarks import sentence
from untrained_weights import noisy_wave


def said(rows: int, step: str | None, **options: object) -> str:
    columns = {"load": noisy_wave(rows)}
    if step is not None:
        columns["time"] = pd.date_range("2024-03-01", periods=rows, freq=step)
    model = CAPS(detector=None, **options).fit(pd.DataFrame(columns))
    (found,) = [note for note in model.notes_ if note.startswith("compares up to")]
    return found


@pytest.mark.parametrize(
    ("rows", "step", "span"),
    [
        (600, None, "64 rows;"),
        (800, None, "256 rows;"),
        (800, "7min", "1 day 6 h at this step;"),  # no whole number of rows a day
        (600, "h", "2 days 16 h at this step, and rows at the same time of the last days and"),
        (600, "10min", "10 h 40 min at this step, and rows at the same time of the last days;"),
    ],
)
def test_the_longest_subsequence_and_the_calendar_are_named(
    rows: int, step: str | None, span: str
) -> None:
    assert said(rows, step).startswith(f"compares up to {span}")


def test_by_the_past_alone_shorter_contexts_are_compared() -> None:
    assert said(3200, None).startswith("compares up to 1,024 rows")
    assert said(3200, None, causal=True).startswith("compares up to 256 rows")


def test_the_sentence_ends_with_what_it_means() -> None:
    for text in (sentence(64, None), sentence(64, np.timedelta64(1, "h"), 2)):
        assert text.endswith("; longer patterns are not seen")
