"""A watch of a small Prometheus by a clock of its own, in which something is done now and then."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from minute_load import ORIGIN, TRAIN, load
from small_servers import SmallPrometheus, SmallServer

from caps import CAPS
from caps.cli.watch import load_models
from caps.renewal import renew_round
from caps.watch import Watch, read_config

HOST = 'load{host="a"}'
PERIOD = 50  # rows of the wave: both incidents are at the same place of it
FIRST, SECOND = TRAIN + 40, TRAIN + 40 + PERIOD
STARTS = [f"2024-05-01T{row // 60:02}:{row % 60:02}:00Z" for row in (FIRST, SECOND)]
TURNS = 6  # looks at the clock until something is changed: more than one turn of the watch
RELEASE = 'name = "release"\nstart = 2024-05-01T12:00:00Z\nend = "2024-05-01 14:00"\n'

Step = Callable[["Played"], None]


def value(row: int) -> float:
    odd = any(first <= row < first + 6 for first in (FIRST, SECOND))
    return load(row) + (15.0 if odd else 0.0)


def frame(first: int, last: int) -> pd.DataFrame:
    rows = range(first, last)
    times = pd.to_datetime([ORIGIN + 60 * row for row in rows], unit="s")
    return pd.DataFrame({"time": times, "value": [value(row) for row in rows]})


class Played:
    """Models, servers and the watch itself; `steps` are taken one after the other."""

    def __init__(self, servers: tuple[SmallPrometheus, SmallServer, SmallServer], model: CAPS,
                 folder: Path) -> None:  # fmt: skip
        self.prometheus, self.hook, self.alertmanager = servers
        self.folder, self.row, self.asked = folder, SECOND + 30, 0
        self.since = "3h"
        self.lines: list[dict[str, Any]] = []
        model.save(folder / "model")

    def clock(self) -> float:
        self.asked += 1
        if self.asked % TURNS == 0:
            next(self.steps, end)(self)
        return float(ORIGIN + 60 * self.row + 5)

    def play(self, *steps: Step, first: str = "", last: str = "") -> dict[str, Any]:
        path = self.folder / "caps.toml"
        path.write_text(
            f'{first}[[sources]]\nprometheus = "{self.prometheus.url}"\nquery = "load"\n'
            f'since = "{self.since}"\n[watch]\nmodels = "model"\nlisten = "127.0.0.1:0"\n'
            f'[[sinks]]\nkind = "webhook"\nurl = "{self.hook.url}"\n'
            f'[[sinks]]\nkind = "alertmanager"\nurl = "{self.alertmanager.url}"\n{last}'
        )
        self.steps = iter(steps)
        self.watch = Watch(
            read_config(path), load_models, lambda line: self.lines.append(json.loads(line)),
            run_round=renew_round, clock=self.clock,
        )  # fmt: skip
        return self.watch.run()

    def told(self) -> list[list[str]]:
        """The incidents that each sink was told of."""
        posted = [json.loads(body) for _, _, body in self.hook.asked]
        alerts = [alert for _, _, body in self.alertmanager.asked for alert in json.loads(body)]
        begun = [each["start"] for each in posted if each["what"] == "opened"]
        firing = {alert["labels"]["incident"] for alert in alerts}
        return [[start for start in STARTS if start in found] for found in (begun, firing)]

    def opened(self, start: str) -> list[dict[str, Any]]:
        return [each for each in self.lines if each["what"] == "opened" and each["start"] == start]


def end(play: Played) -> None:
    play.watch.asked.append(signal.SIGTERM)


def look(play: Played) -> None:
    """The files are looked at in the next turn."""
    play.watch.files.looked_at = 0.0
