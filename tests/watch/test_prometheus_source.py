"""Prometheus in: pieces, labels, polling, outages, restarts, series that stop."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from minute_load import ORIGIN, TRAIN, load
from small_servers import SmallPrometheus

from caps import CAPS
from caps.cli.main import main
from caps.cli.watch import load_models
from caps.errors import CapsError, InputError
from caps.watch import Followed, Polling, Prometheus, WatchConfig, Watcher, WatchState, series_id
from caps.watch.prometheus import MOST_POINTS, MOST_VALUES

MINUTE = 60_000
HOST = 'load{host="a"}'
LABELS = {"__name__": "load", "host": "a"}
INCIDENT = "2024-05-01T12:20:00Z"


def values(moment: int) -> float:
    row = (moment - ORIGIN) // 60
    incident = 15.0 if TRAIN + 40 <= row < TRAIN + 46 else 0.0
    return load(row) + incident


def client(server: SmallPrometheus, query: str = "load", **options: int) -> Prometheus:
    return Prometheus(server.url, {"value": query}, MINUTE, **options)


class Run:
    """Watchers one after the other, by one clock."""

    def __init__(self, server: SmallPrometheus, model: CAPS, folder: Path) -> None:
        self.server, self.model, self.folder = server, model, folder
        self.row = TRAIN
        self.lines: list[dict] = []

    def now(self) -> float:
        return float(ORIGIN + 60 * self.row + 5)

    def tell(self, line: str) -> None:
        self.lines.append(json.loads(line))

    def until(self, row: int, **options: object) -> Watcher:
        """Play the rows until this one, one poll a row; the watcher then ends by a kill."""
        source = Polling(
            client(self.server), clock=self.now, sleep=lambda seconds: self.tick(), since=12_000
        )
        watcher = Watcher(
            lambda name: self.model, [source], self.tell, state=WatchState(self.folder),
            config=WatchConfig(no_data=5, recovery=6, **options), clock=self.now,
        )  # fmt: skip

        class Killed(BaseException): ...

        def stop() -> bool:
            if self.row >= row:
                raise Killed
            return False

        with pytest.raises(Killed):
            watcher.run(stop)
        return watcher

    def tick(self) -> None:
        self.row += 1

    def said(self, *wanted: str) -> list[str]:
        return [line["what"] for line in self.lines if line["what"] in wanted]


@pytest.fixture
def run(prometheus: SmallPrometheus, model: CAPS, tmp_path: Path) -> Run:
    prometheus.series["load"] = [(LABELS, values)]
    return Run(prometheus, model, tmp_path / "state")


def test_history_is_read_in_pieces_that_the_server_allows(prometheus: SmallPrometheus) -> None:
    prometheus.series["load"] = [(LABELS, lambda moment: float(moment % 7))]
    rows = 2 * MOST_POINTS + 17
    found = client(prometheus).history(0, (rows - 1) * MINUTE)
    assert list(found) == [HOST]
    assert found[HOST].values[:, 0].tolist() == [float(60 * row % 7) for row in range(rows)]
    assert found[HOST].sampling.step == np.timedelta64(1, "m")
    assert len(prometheus.asked) > 2


def test_a_server_that_refuses_large_answers_is_asked_for_less(
    prometheus: SmallPrometheus,
) -> None:
    prometheus.series["load"] = [
        ({"host": str(host)}, lambda moment: float(moment)) for host in range(20)
    ]
    prometheus.most_samples = 3000
    found = client(prometheus).history(0, 400 * MINUTE)
    assert len(found) == 20
    assert all(len(series) == 401 for series in found.values())


def test_many_series_are_asked_for_in_short_pieces(prometheus: SmallPrometheus) -> None:
    prometheus.series["load"] = [({"host": str(host)}, lambda moment: 1.0) for host in range(100)]
    asking = client(prometheus)
    asking.history(0, 1200 * MINUTE)
    assert asking.points * 100 <= MOST_VALUES


def test_labels_become_ids_as_promql_writes_them() -> None:
    odd = {"__name__": "load", "path": 'a"b\\c', "job": "ü"}
    assert series_id(odd) == 'load{job="ü",path="a\\"b\\\\c"}'
    assert series_id(odd, named=False) == '{job="ü",path="a\\"b\\\\c"}'
    assert series_id({}) == "{}"


def test_several_queries_are_channels_of_series_with_equal_labels(
    prometheus: SmallPrometheus,
) -> None:
    prometheus.series["cpu"] = [({"__name__": "cpu", "host": "a"}, lambda moment: 1.0)]
    prometheus.series["mem"] = [
        ({"__name__": "mem", "host": "a"}, lambda moment: 2.0 if moment else None)
    ]
    both = Prometheus(prometheus.url, {"cpu": "cpu", "memory": "mem"}, MINUTE)
    (series,) = both.history(0, 2 * MINUTE).values()
    assert series.channels == ("cpu", "memory")
    assert np.array_equal(series.values, [[1, np.nan], [1, 2], [1, 2]], equal_nan=True)


def test_a_query_that_is_none_is_refused_at_once(
    prometheus: SmallPrometheus, run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="parse error"):
        Polling(client(prometheus, "load{"), clock=run.now).read(0)
    prometheus.close()
    with pytest.raises(CapsError, match="cannot be reached"):
        client(prometheus).history(0, MINUTE)
    with pytest.raises(SystemExit) as stop:
        main(
            ["fit", "--prometheus", prometheus.url, "--query", "load", "--out", str(tmp_path / "m")]
        )
    assert stop.value.code == 1
    assert "see that it runs" in capsys.readouterr().err


def test_what_is_told_is_the_same_and_told_once_whenever_the_watch_is_killed(
    run: Run, tmp_path: Path
) -> None:
    run.until(TRAIN + 92)
    (opened,) = (line for line in run.lines if line.get("alert") and line["start"] == INCIDENT)
    (over,) = (line for line in run.lines if line["what"] == "recovered" and _same(line, opened))
    for line in (opened, over):
        assert line["labels"] == {"host": "a"}
        assert line["direction"] == "up"
        assert line["size"] > 1
        assert line["channels"] == ["value"]
        assert line["severity"] in ("medium", "high")
        assert "above what was expected" in line["reason"]
    for number, kills in enumerate([(742,), (744, 751), (741, 742, 743, 765)]):
        again = Run(run.server, run.model, tmp_path / f"killed {number}")
        for row in (*kills, TRAIN + 92):
            again.until(row, save_every=1e9)  # the first state is all that a kill leaves
            again.row += 2  # rows that nobody reads in time
        assert [line["id"] for line in again.lines] == [line["id"] for line in run.lines]


def _same(line: dict, other: dict) -> bool:
    return bool(line["incident"] == other["incident"])


def test_rows_missed_in_an_outage_of_the_source_are_read_later(run: Run) -> None:
    run.until(TRAIN + 10)
    run.server.down = True
    run.until(TRAIN + 50)
    assert run.said("source_down", "source_up") == ["source_down"]
    run.server.down = False
    last = run.until(TRAIN + 80)
    assert run.said("source_down", "source_up") == ["source_down", "source_up"]
    assert not run.said("no_data")
    assert [line["start"] for line in run.lines if line.get("alert")].count(INCIDENT) == 1
    assert last.streams[HOST].counts.absent == 0


def test_a_series_that_stops_is_an_event_and_so_is_its_return(run: Run) -> None:
    run.server.series["load"] = [
        (LABELS, lambda moment: values(moment) if not 720 <= row_of(moment) < 735 else None),
        ({**LABELS, "host": "b"}, values),
    ]
    run.until(728)
    (stopped,) = (line for line in run.lines if line["what"] == "no_data")
    assert (stopped["series"], stopped["start"]) == (HOST, "2024-05-01T11:59:00Z")
    assert stopped["alert"]
    assert "see whether it is still measured" in stopped["reason"]
    run.until(737)  # by another process
    assert run.said("no_data", "data_again") == ["no_data", "data_again"]
    assert {line["id"].rpartition(":")[0] for line in run.lines if "data" in line["what"]} == {
        f"{HOST}:2024-05-01T11:59:00Z"
    }


def test_a_series_that_is_gone_for_good_is_forgotten(run: Run) -> None:
    gone = lambda moment: values(moment) if row_of(moment) < 742 else None  # noqa: E731
    run.server.series["load"] = [(LABELS, gone), ({**LABELS, "host": "b"}, values)]
    watcher = run.until(765, forget=15 * 60)
    assert run.said("no_data", "forgotten") == ["no_data", "forgotten"]
    assert HOST not in watcher.streams
    # An incident that was open is over: nobody can tell how it went on.
    own = [line for line in run.lines if line["series"] == HOST and line.get("start") == INCIDENT]
    assert [line["what"] for line in own if line["what"] in ("opened", "recovered")] == [
        "opened",
        "recovered",
    ]


def row_of(moment: int) -> int:
    return (moment - ORIGIN) // 60


def test_a_model_of_another_step_or_channel_is_refused(run: Run) -> None:
    def watching(**queries: str) -> Callable[[], object]:
        step = 30_000 if not queries else MINUTE
        asked = Prometheus(run.server.url, queries or {"value": "load"}, step)
        source = Polling(asked, clock=run.now)
        return lambda: Watcher(lambda name: run.model, [source], print).run(lambda: False)

    with pytest.raises(InputError, match="--step"):
        watching()()
    with pytest.raises(InputError, match="--query NAME=PROMQL"):
        watching(cpu="load")()


def test_fit_writes_a_model_for_each_series_that_watch_finds(
    prometheus: SmallPrometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prometheus.series["load"] = [
        ({**LABELS, "path": "/a b"}, lambda moment: load(row_of(moment))),
        ({**LABELS, "path": "short"}, lambda moment: 1.0 if moment % 7200 == 0 else None),
    ]
    with pytest.raises(SystemExit) as stop:
        main(["fit", "--prometheus", prometheus.url, "--query", "load", "--since", "6h",
              "--alarms", "1/day", "--out", str(tmp_path / "models"), "--json"])  # fmt: skip
    facts = json.loads(capsys.readouterr().out)
    assert stop.value.code == 1
    assert list(facts["refused"]) == ['load{host="a",path="short"}']
    name = 'load{host="a",path="/a b"}'
    one, model_of = load_models(tmp_path / "models", True, Followed())
    assert one.fitted_.causal
    assert model_of(name) is not None
    assert model_of("load{}") is None
    assert facts["models"][name]["rows"] in (360, 361)
