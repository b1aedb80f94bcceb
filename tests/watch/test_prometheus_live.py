"""Real Prometheus and Alertmanager, an hour with three incidents, each server killed on the way."""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from real_servers import (
    AlertmanagerServer,
    Program,
    PrometheusServer,
    Web,
    exposition,
    free_port,
    get,
    need_servers,
    openmetrics,
)

from caps.cli.main import main
from caps.watch import grafana_dashboard
from patience import wait_until

STEP, TRAIN, LIVE, CHUNK = 30, 1000, 120, 10  # seconds, and rows: an hour live
INCIDENTS = {(10, 15): 14.0, (50, 55): -14.0, (90, 95): 14.0}  # rows, and what is added
LABELS = '{host="db-1"}'
SERIES = 'load{host="db-1",instance="shop",job="app"}'
DELAY = 5.0
QUERY = "last_over_time(load[29s])"  # no value lasts longer than its own step


def played() -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = np.arange(TRAIN + LIVE)
    load = 50 + 5 * np.sin(2 * np.pi * rows / 97) + rng.standard_normal(len(rows))
    for (start, end), added in INCIDENTS.items():
        load[TRAIN + start : TRAIN + end] += added
    return load


class Play:
    """The servers, the watch, and the clock that all of them are played by."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.load = folder, played()
        self.begin = int(time.time()) // STEP * STEP - 4 * 3600 - TRAIN * STEP
        self.exporter, self.receiver = Web(), Web()
        past = zip(self.times(0, TRAIN), self.load[:TRAIN].tolist(), strict=True)
        self.listen = free_port()
        labels = '{host="db-1",instance="shop",job="app"}'
        self.prometheus = PrometheusServer(
            folder,
            {"app": self.exporter.address, "caps": f"127.0.0.1:{self.listen}"},
            openmetrics("load", labels, past),
        )
        self.alertmanager = AlertmanagerServer(folder, self.receiver.address)
        self.clock, self.now = folder / "clock", TRAIN
        self.watch = Program(
            [sys.executable, str(Path(__file__).with_name("simulated_watch.py")),
             str(folder / "caps.toml"), str(self.clock)],
            folder / "watch.log",
            f"http://127.0.0.1:{self.listen}/metrics",
        )  # fmt: skip

    def times(self, first: int, last: int) -> list[float]:
        return [float(self.begin + STEP * row) for row in range(first, last)]

    def write_config(self) -> None:
        (self.folder / "caps.toml").write_text(
            f"""
            alarms = "1/day"
            [[sources]]
            prometheus = "{self.prometheus.url}"
            query = "{QUERY}"
            step = "30s"
            since = "150m"
            [watch]
            models = "models"
            state = "state"
            listen = "127.0.0.1:{self.listen}"
            recovery = 6
            save_every = "1s"
            [[sinks]]
            kind = "alertmanager"
            url = "{self.alertmanager.url}"
            resend = "500ms"
            settle = "1s"
            """
        )

    def set_clock(self) -> None:
        """The moment at which the last row played is due."""
        fresh = self.folder / "clock.new"
        fresh.write_text(str(self.times(self.now - 1, self.now)[0] + DELAY))
        fresh.replace(self.clock)

    def play_until(self, row: int, *, read: bool = True) -> None:
        while self.now < TRAIN + row:
            self.advance(read=read)

    def advance(self, *, read: bool) -> None:
        """Play the next rows; they are scraped, and read by the watch."""
        first, self.now = self.now, self.now + CHUNK
        times = self.times(first, self.now)
        rows = zip(times, self.load[first : self.now].tolist(), strict=True)
        self.exporter.page = exposition("load", LABELS, rows)
        wait_until(lambda: self.scraped(times), "rows are scraped", every=0.02)
        self.set_clock()
        if read:
            self.wait_until_read()

    def scraped(self, times: list[float]) -> bool:
        found = self.prometheus.query(f"count_over_time(load[{CHUNK * STEP - 1}s])", times[-1])
        return any(int(each["value"][1]) >= CHUNK for each in found)

    def wait_until_read(self) -> None:
        newest = self.times(self.now - 1, self.now)[0]
        wait_until(lambda: self.metric("last_row_timestamp_seconds") == newest, "rows are read")

    def metric(self, name: str) -> float | None:
        text = (get(self.watch.ready) or b"").decode()
        found = re.search(rf"^caps_watch_{name}\{{series=.*?\}} (\S+)$", text, re.M)
        return None if found is None else float(found[1])

    def notified(self) -> list[tuple[str, dict]]:
        return [
            (body["status"], alert)
            for body in list(self.receiver.bodies)
            for alert in body["alerts"]
        ]

    def close(self) -> None:
        for program in (self.watch, self.prometheus, self.alertmanager):
            program.kill()
        self.exporter.close()
        self.receiver.close()


@pytest.fixture
def play(tmp_path: Path):  # type: ignore[no-untyped-def]
    need_servers()
    servers = Play(tmp_path)
    try:
        yield servers
    finally:
        servers.close()


def dashboard_queries() -> list[str]:
    content = grafana_dashboard()
    found = [target["expr"] for panel in content["panels"] for target in panel["targets"]]
    # An annotation stands for the last minute: whether something happened in it is not asked.
    found += [each["expr"].removesuffix(" > 0") for each in content["annotations"]["list"]]
    return [each.replace("$series", ".*") for each in found]


@pytest.mark.slow
def test_three_incidents_arrive_once_though_every_process_is_killed(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    play.prometheus.start()
    play.alertmanager.start()
    play.write_config()
    with pytest.raises(SystemExit) as stop:
        main(
            ["fit", "--prometheus", play.prometheus.url, "--query", QUERY, "--step", "30s",
             "--since", "13h", "--train", "all", "--alarms", "1/day",
             "--out", str(play.folder / "models")]
        )  # fmt: skip
    assert stop.value.code == 0, capsys.readouterr().err
    assert f"{SERIES}: 1,000 rows" in capsys.readouterr().out
    play.set_clock()
    play.watch.start()
    play.play_until(20)
    wait_until(lambda: len(play.notified()) >= 1, "the first incident is told")
    play.watch.kill()
    play.play_until(30, read=False)  # while nobody watches
    play.watch.start()
    play.play_until(50)
    wait_until(lambda: len(play.notified()) >= 2, "the first incident is over")
    play.play_until(60)
    wait_until(lambda: len(play.notified()) >= 3, "the second incident is told")
    told, noted = time.time(), play.folder / "am" / "nflog"
    wait_until(lambda: noted.exists() and noted.stat().st_mtime > told, "it has written that")
    play.alertmanager.kill()
    play.play_until(70)
    play.alertmanager.start()
    play.play_until(90)
    wait_until(lambda: len(play.notified()) >= 4, "the second incident is over")
    play.prometheus.kill()
    wait_until(lambda: b"caps_watch_source_up" in (get(play.watch.ready) or b""), "it goes on")
    play.prometheus.start()
    play.play_until(LIVE)
    wait_until(lambda: len(play.notified()) >= 6, "the third incident is over")
    check_incidents(play)
    for query in dashboard_queries():
        wait_until(lambda query=query: play.prometheus.query(query), query)  # type: ignore[misc]


def check_incidents(play: Play) -> None:
    told = play.notified()
    assert [status for status, _ in told] == ["firing", "resolved"] * 3
    opened = [alert for status, alert in told if status == "firing"]
    over = [alert for status, alert in told if status == "resolved"]
    for (start, end), added, first, last in zip(
        INCIDENTS, INCIDENTS.values(), opened, over, strict=True
    ):
        assert first["labels"] == last["labels"]
        assert first["labels"]["alertname"] == "CAPSAnomaly"
        assert first["labels"]["series"] == SERIES
        assert first["labels"]["host"] == "db-1"
        assert first["startsAt"] == last["startsAt"]
        begun, ended = (
            np.datetime64(text.rstrip("Z")) for text in (last["startsAt"], last["endsAt"])
        )
        origin = np.datetime64(play.begin + TRAIN * STEP, "s")
        assert abs((begun - origin) / np.timedelta64(STEP, "s") - start) <= 2
        assert -1 <= (ended - origin) / np.timedelta64(STEP, "s") - end <= 20
        said = last["annotations"]
        assert said["direction"] == ("up" if added > 0 else "down")
        assert {"severity", "size", "channels", "description"} <= set(said)
    lines = [
        json.loads(line)
        for line in (play.folder / "watch.log").read_text().splitlines()
        if line.startswith("{")
    ]
    ids = [line["id"] for line in lines]
    assert len(ids) == len(set(ids))
    assert sum(line["what"] == "recovered" for line in lines) == 3
