"""Inputs of `caps watch` with something wrong in them, and a watch that accounts for every line."""

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from caps import CAPS
from caps.errors import CapsError
from caps.watch import Lines, LineSource, Records, WatchConfig, Watcher, WatchState
from caps.watch.records import Record

ODD = [
    "", "nan", "-inf", "1e308", "-1e400", "1e-320", "0x10", "1_0", "٣", "true", "null", "{}", "[1]",
    "9" * 400, "1" * 5000, "[" * 5000, '"', "'", "\r", "\x00", "\ufeff", "\ud83d\ude00", "a" * 3000,
    "9999-12-31", "0001-01-01T00:00:00+14:00", "1600-01-01", "1970-01-01", "2093-01-01",
    "2024-02-30", "2262-04-11T23:47:16.854775807", "-1", "1e9", "17", "99999999999999999999",
    "2024-05-01T25:00", "load", "time", "time,load", "load,time", "{", "}", ",", ";;;;", "\t|",
]  # fmt: skip


def rows(rng: random.Random, count: int) -> list[tuple[str, float]]:
    """Minutes with a value each, some left out."""
    start = datetime(2024, 5, 1) + timedelta(minutes=rng.randrange(1000))
    minutes = [minute for minute in range(count) if minute == 0 or rng.random() > 0.05]
    return [
        ((start + timedelta(minutes=minute)).isoformat(), 5 + rng.gauss(0, 1)) for minute in minutes
    ]


def written(rng: random.Random, made: list[tuple[str, float]]) -> list[str]:
    """The rows as lines of CSV or NDJSON."""
    if rng.random() < 0.5:
        columns = rng.choice([("time", "load"), ("load", "time")])
        named = [dict(zip(("time", "load"), row, strict=True)) for row in made]
        return [",".join(columns), *(",".join(str(row[c]) for c in columns) for row in named)]
    return [json.dumps({"time": time, "load": value}) for time, value in made]


def mutated(rng: random.Random, lines: list[str]) -> bytes:
    """Lines with a few mistakes: in bytes, in fields, in their order, or cut off."""
    lines = list(lines)
    for _ in range(rng.randrange(1, 6)):
        index = rng.randrange(len(lines))
        line, what = lines[index], rng.randrange(7)
        if what == 0:
            lines.insert(index, rng.choice(ODD))
        elif what == 1:
            lines[index] = line[: rng.randrange(len(line) + 1)]
        elif what == 2:
            lines.insert(rng.randrange(len(lines)), line)
        elif what == 3:
            lines[index] = line + "," + rng.choice(ODD)
        elif what == 4:
            mark = rng.choice([",", ":", '"', " "])
            lines[index] = mark.join([line.partition(mark)[0], rng.choice(ODD)])
        elif what == 5:
            other = rng.randrange(len(lines))
            lines[index], lines[other] = lines[other], line
        elif "load" in line:
            lines[index] = line.replace("load", rng.choice(["laod", "time", "load,load"]))
    data = bytearray("\n".join(lines).encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice([0, 0, 1, 5])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randrange(1, len(data))] if rng.random() < 0.1 else data)


@dataclass(slots=True)
class Outcome:
    """What became of one input."""

    refused: str | None  # the whole input, by an error that names the remedy
    lines: int = 0
    headers: int = 0
    malformed: int = 0
    rows: int = 0
    not_taken: int = 0  # late, repeated, far ahead, held or merged into another


class CountedRecords(Records):
    """Counts headers, too."""

    headers = 0

    def _record(self, text: str) -> Record | None:
        record = super()._record(text)
        self.headers += record is None
        return record


def watched(model: CAPS, rng: random.Random, data: bytes, work: Path) -> Outcome:
    """Watch an input, now and then with a state and in two parts; every line is accounted for."""
    path, state = work / "input", work / "state"
    cut = rng.randrange(len(data) + 1) if rng.random() < 0.3 else None
    lateness = rng.choice([0, 0, 2])
    outcome = Outcome(None)
    for upto in [len(data)] if cut is None else [cut, len(data)]:
        path.write_bytes(data[:upto])
        records = CountedRecords(model.fitted_.names)
        watcher = Watcher(
            lambda name: model, [LineSource(Lines(path), records)], lambda line: None,
            config=WatchConfig(lateness=lateness),
            state=None if cut is None else WatchState(state),
        )  # fmt: skip
        watcher.remarks.say = lambda what: None  # type: ignore[method-assign]
        try:
            summary = watcher.run(lambda: False)
        except CapsError as error:
            outcome.refused = str(error)
            return outcome
        outcome.lines += records.lines
        outcome.headers += records.headers
    not_taken = ("late", "duplicate", "ahead", "completed")
    outcome.malformed, outcome.rows = summary["malformed"], summary["rows"]
    outcome.not_taken = sum(summary[name] for name in not_taken)
    for stream in watcher.streams.values():  # rows that wait in their place are counted as rows
        outcome.not_taken += stream.arrivals.held - len(stream.arrivals.waiting)
    return outcome


def check(outcome: Outcome) -> None:
    """Every line is a header, malformed, a row, or counted among those not taken in."""
    if outcome.refused is None:
        counted = outcome.headers + outcome.malformed + outcome.rows + outcome.not_taken
        assert outcome.lines == counted, outcome
