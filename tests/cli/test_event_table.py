"""The table of events: one line an event, also on a narrow terminal."""

import numpy as np
import pandas as pd
import pytest

from caps.cli.results import headline, print_events
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
    print_events([Event(1, 10, 13, 11, 0.9964, 3e-6, "periodic", **more)], series, "1 event")
    first = capsys.readouterr().out.splitlines()[2]
    expected = "1 24-03-01 20:50 21:00 medium 1/330,000 periodic cpu 12.3 down"
    assert " ".join(first.split()) == expected
    print_events([Event(1, 40, 60, 50, 0.9, 0.0)], series, "1 event")  # over midnight
    second = capsys.readouterr().out.splitlines()[2]
    assert second.startswith("1      24-03-01 23:20  03-02 00:55  high   < 1e-6")


@pytest.mark.usefixtures("narrow")
def test_channels_and_times_stay_on_one_line_where_there_is_no_room_for_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = pd.date_range("2024-12-31 20:00", periods=ROWS, freq="5min")
    series = read(pd.DataFrame({"time": times, "cpu": np.zeros(ROWS)}))
    shares = {"requests": 0.4, "latency_p99": 0.3, "cpu": 0.3}
    more = {"direction": "down", "size": 12.34, "contributions": shares}
    print_events([Event(1, 40, 60, 50, 0.9964, 3e-6, "periodic", **more)], series, "1 event")
    heads, line, *_ = capsys.readouterr().out.splitlines()[1:]
    assert heads.split() == ["event", "start", "end", "level", "kind", "channels", "size"]
    expected = "1 24-12-31 23:20 25-01-01 00:55 medium periodic requests 12.3 down"
    assert " ".join(line.split()) == expected


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    ("name", "said"),
    [("host{:02d}_cpu", "host29_cpu, host03_cpu and 2 more"), ("rack/{:02d}/" * 9, "rack/29/")],
)
def test_of_thirty_columns_those_to_blame_are_named(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name.format(*[number] * 9) for number in range(30)]
    shares = dict.fromkeys(names, 0.0)
    for number, share in ((29, 0.3), (3, 0.25), (7, 0.23), (8, 0.22)):
        shares[names[number]] = share
    times = pd.date_range("2024-03-01", periods=ROWS, freq="5min")
    series = read(pd.DataFrame({"time": times, "cpu": np.zeros(ROWS)}))
    more = {"direction": "both", "size": 1.0, "contributions": shares}
    print_events([Event(1, 10, 13, 11, 0.9, 1e-3, **more)], series, "1 event")
    line = capsys.readouterr().out.splitlines()[2]
    assert line.startswith("1      24-03-01 00:50  01:00  low")
    assert said in line
    assert line.rstrip().endswith("1.0 both")


@pytest.mark.usefixtures("narrow")
def test_events_without_times_have_row_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    print_events([Event(1, 10, 13, 11, 0.5)], read(np.zeros(ROWS)), "1 event")
    assert capsys.readouterr().out.splitlines()[2].split() == ["1", "10", "12"]


@pytest.mark.usefixtures("narrow")
def test_the_strongest_event_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    p_values = (3e-4, 0.0, 2e-5)
    events = [Event(n + 1, n, n + 1, n, 0.9, each) for n, each in enumerate(p_values)]
    print_events(events, read(np.zeros(ROWS)), "3 events")
    lines = capsys.readouterr().out.splitlines()[2:5]
    assert [line.split()[0] for line in lines] == ["2", "3", "1"]


def weak(count: int, p_value: float | None = 3e-4) -> list[Event]:
    return [Event(number + 1, number, number + 1, number, 0.8, p_value) for number in range(count)]


@pytest.mark.parametrize(
    ("events", "chance", "said"),
    [
        ([], None, "no events"),
        ([], 2.0, "no events; about 2 expected by chance"),
        (weak(7), 6.0, "nothing stands out: 7 events of low severity, about 6 expected by chance"),
        (weak(40), 6.0, "40 events: 40 low; about 6 expected by chance"),
        (
            [*weak(2), *weak(1, 1e-5), *weak(1, 1e-9)],
            2.0,
            "4 events: 1 high, 1 medium, 2 low; about 2 expected by chance",
        ),
        (weak(1), None, "1 event: 1 low"),
        (weak(1, None), None, "1 event"),
    ],
)
def test_the_headline_tells_what_stands_out(
    events: list[Event], chance: float | None, said: str
) -> None:
    assert headline(events, chance) == said


def test_events_in_the_part_learned_from_are_told_apart() -> None:
    said = headline(weak(7), 6.0, trained=(0, 3))
    assert said == (
        "nothing stands out: 7 events of low severity, about 6 expected by chance; "
        "3 in the part learned from"
    )
    assert headline(weak(7), 6.0, trained=(7, 20)) == headline(weak(7), 6.0)
