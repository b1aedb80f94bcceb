"""The table of events: one line an event, also on a narrow terminal."""

import numpy as np
import pandas as pd
import pytest

from caps.cli.results import print_events
from caps.events import Event
from caps.series import read

ROWS = 600


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_an_event_takes_one_line_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    times = pd.date_range("2024-03-01 20:00", periods=ROWS, freq="5min")
    series = read(pd.DataFrame({"time": times, "cpu": np.zeros(ROWS)}))
    more = {"direction": "down", "size": 12.34, "contributions": {"cpu": 1.0}}
    print_events([Event(1, 10, 13, 11, 0.9964, 3e-6, "periodic", **more)], series)
    first = capsys.readouterr().out.splitlines()[2]
    expected = "1 24-03-01 20:50 21:00 0.996 1/330,000 periodic cpu 12.3 down"
    assert " ".join(first.split()) == expected
    print_events([Event(1, 40, 60, 50, 0.9, 0.0)], series)  # over midnight
    second = capsys.readouterr().out.splitlines()[2]
    assert second.startswith("1      24-03-01 23:20  24-03-02 00:55  0.900  < 1e-6")


@pytest.mark.usefixtures("narrow")
def test_events_without_times_have_row_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    print_events([Event(1, 10, 13, 11, 0.5)], read(np.zeros(ROWS)))
    assert capsys.readouterr().out.splitlines()[2].split() == ["1", "10", "12", "0.500"]
