"""`caps watch` by a simulated clock: as many minutes as it is told, as fast as they go.

Run by `watch_load` as a process of its own: `python -m tools.deployment.watched_day FOLDER PORT
MINUTES`. What each minute took is a line of `minutes.jsonl` in the folder.
"""

import json
import sys
import time
from pathlib import Path
from typing import IO
from urllib.request import urlopen

from caps.cli.watch import load_models
from caps.watch import SinkConfig, SourceConfig, Watch, WatchConfig
from tools.deployment.minute_series import ORIGIN, STEP, TRAIN
from tools.machine import free_port, resident

DELAY = 5.0
MINUTES_FILE = "minutes.jsonl"
ALERTS_FILE = "alerts.jsonl"


class Day:
    """The clock of a watch: it moves on when the watch has nothing left to do."""

    def __init__(self, file: IO[str], minutes: int) -> None:
        self.file, self.minutes, self.minute = file, minutes, 0
        self.now = ORIGIN + STEP * TRAIN + DELAY
        self.watch: Watch | None = None
        self.began, self.saved_at = time.process_time(), None

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """A minute is over: note what it took, look at the metrics as a scrape does, go on."""
        assert self.watch is not None
        assert self.watch.figures is not None
        facts: dict[str, object] = {
            "processor": time.process_time() - self.began,
            "resident": resident(),
        }
        watcher = self.watch.figures.watcher
        if watcher is not None:
            facts["saved"] = watcher.saved_at != self.saved_at
            self.saved_at = watcher.saved_at
        scraped = time.process_time()
        with urlopen(f"http://127.0.0.1:{self.watch.config.listen[1]}/metrics") as answer:
            answer.read()
        facts["scrape"] = time.process_time() - scraped
        print(json.dumps(facts), file=self.file, flush=True)
        self.minute, self.now = self.minute + 1, self.now + STEP
        if self.minute >= self.minutes:
            self.watch.asked.append(0)
        self.began = time.process_time()


def main(folder: Path, port: int, minutes: int) -> None:
    """Watch, with a state, metrics, an Alertmanager and a webhook."""
    address = f"http://127.0.0.1:{port}"
    source = SourceConfig(prometheus=address, queries={"value": "load"}, step=STEP, delay=DELAY)
    config = WatchConfig(
        models=folder / "models",
        state=folder / "state",
        listen=("127.0.0.1", free_port()),
        sources=(source,),
        sinks=(
            SinkConfig("alertmanager", address, "alertmanager"),
            SinkConfig("webhook", f"{address}/webhook", "webhook"),
        ),
    )
    with (folder / MINUTES_FILE).open("w") as file, (folder / ALERTS_FILE).open("w") as told:
        print(json.dumps({"resident": resident()}), file=file, flush=True)
        day = Day(file, minutes)
        day.watch = Watch(
            config,
            load_models,
            lambda line: print(line, file=told, flush=True),
            clock=day.clock,
            sleep=day.sleep,
        )
        summary = day.watch.run()
        print(json.dumps(summary), file=told)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
