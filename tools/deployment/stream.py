"""Streams at work: a killed `caps watch` against the batch, time and memory a row, drift."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from caps import CAPS
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.realize import Pretrained
from caps.stream import DriftWatch
from caps.stream.stream import GROUP
from tools.machine import machine, resident, size_of
from tools.quality.unseen import UNSEEN

TRAIN, ROWS = 4_000, 20_000
GRID = 22_000  # of which gaps leave out some 1,600
LATENESS = 6
SEED = 20_261_117
STEP = np.timedelta64(5, "m")
KINDS = ("gusts", "tide", "queue length", "modulated tone", "shot noise", "long memory")

LONG, QUICK_LONG = 1_000_000, 20_000  # rows of the memory check

Facts = list[list[Entry]]


def stream(run: StudyRun) -> Report:
    """Four measurements; fails if the events of the killed watch are not those of the batch."""
    weights, frame = run.pretrained, _series()
    both = CAPS(train=TRAIN, causal=True, alarms="1/1000", detector="auto", pretrained=weights)
    model = both.fit(frame)
    header = ["what", "measured"]
    run.say("killing caps watch twice")
    with tempfile.TemporaryDirectory() as work:
        killed = _killed(model, frame.loc[TRAIN:], Path(work))
    run.say("timing rows")
    tables = [
        Table("stream kill", "`caps watch`, killed twice", header, killed),
        Table("stream speed", "Processor time of a row", header, _speed(model), [f"{machine()}."]),
    ]
    run.say("a long stream")
    long = _memory(model, QUICK_LONG if run.quick else LONG)
    tables.append(Table("stream memory", "Resident memory", header, long))
    if not run.quick:
        run.say("drift")
        kinds = ["kind of series", "recommended on more of the same", "after a change of kind"]
        tables.append(Table("stream drift", "Refits recommended", kinds, _drift(weights)))
    equal = ["equal", "yes"] in killed and ["told twice", "0"] in killed
    return Report(
        "Streams at work",
        [
            f"{ROWS:,} rows with anomalies, missing values, gaps, late and repeated rows through "
            "`caps watch`, killed by kill -9 twice; one channel, two networks."
        ],
        tables,
        wanted="the killed watch tells what the batch finds, once",
        passed=equal,
    )


def _traffic(rng: np.random.Generator, rows: int, first: int = 0) -> np.ndarray:
    """Requests with a day of 288 rows, no two days alike."""
    day = 2 * np.pi * np.arange(first, first + rows) / 288
    swing = 1 + 0.1 * np.repeat(rng.standard_normal(rows // 288 + 1), 288)[:rows]
    return 50 + swing * (12 * np.sin(day) + 4 * np.sin(2 * day)) + rng.standard_normal(rows)


def _series() -> pd.DataFrame:
    """Training rows, then rows with 30 anomalies, missing values and gaps."""
    rng = np.random.default_rng(SEED)
    values = _traffic(rng, TRAIN + GRID)
    for start in rng.choice(np.arange(TRAIN + 300, TRAIN + GRID - 400, 100), 30, replace=False):
        length = int(rng.choice([1, 5, 20, 60]))
        values[start : start + length] += rng.choice([-1, 1]) * rng.uniform(8, 25)
    values[rng.choice(np.arange(TRAIN, len(values)), 200)] = np.nan
    time_ = pd.Timestamp("2024-01-01") + STEP * np.arange(len(values))
    frame = pd.DataFrame({"time": time_, "requests": values})
    gaps = [rng.choice(np.arange(TRAIN + 300, len(values) - 400)) for _ in range(12)]
    gone = [row for first in gaps for row in range(first, first + int(rng.integers(2, 300)))]
    return frame.drop(index=[row for row in set(gone) if row < len(values) - 300])


def _disturbed(frame: pd.DataFrame) -> pd.DataFrame:
    """In the order of arrival: a tenth of the rows late, 300 rows twice."""
    rng = np.random.default_rng(SEED + 1)
    late = np.where(rng.random(len(frame)) < 0.1, rng.integers(1, LATENESS + 1, len(frame)), 0)
    steps = ((frame["time"] - frame["time"].iloc[0]) / STEP).to_numpy()
    order = np.argsort(steps + late, kind="stable")
    twice = np.sort(np.concatenate([np.arange(len(frame)), rng.choice(len(frame), 300)]))
    return frame.iloc[order].iloc[twice]


def _killed(model: CAPS, frame: pd.DataFrame, work: Path) -> Facts:
    """Feed `caps watch`, kill it twice, and compare what it told with the batch."""
    model.save(work / "model")
    text = _disturbed(frame).to_csv(index=False).splitlines(keepends=True)
    path, printed = work / "rows.csv", work / "lines.ndjson"
    arguments = [
        "--input", path, "--follow", "--lateness", LATENESS, "--state", work / "state",
        "--save-every", 2,
    ]  # fmt: skip
    command = [sys.executable, "-m", "caps.cli.main", "watch", work / "model", *arguments]
    path.write_text("")
    written = 0
    for share, stop in ((0.43, "kill"), (0.71, "kill"), (1.0, "terminate")):
        upto = int(share * len(text))
        with printed.open("a") as out, path.open("a") as growing:
            process = subprocess.Popen([str(part) for part in command], stdout=out)
            for first in range(written, upto, 500):
                growing.write("".join(text[first : min(first + 500, upto)]))
                growing.flush()
                time.sleep(0.05)
            _wait(work / "state", int(0.98 * sum(map(len, text[:upto]))) if stop == "kill" else
                  sum(map(len, text)))  # fmt: skip
            getattr(process, stop)()
            process.wait()
        written = upto
    lines = [json.loads(line) for line in printed.read_text().splitlines()]
    closed = [(line["start_row"], line["end_row"]) for line in lines if line["what"] == "closed"]
    batch = [(event.start, event.end) for event in model.analyze(frame).spans]
    newest = max(_states(work / "state"), key=lambda state: state["extra"]["turn"])
    state = newest["streams"][0]["state"]
    counts = state["arrivals"]["counts"]
    if state["tracker"]["run"] is not None and state["tracker"]["run"]["number"]:
        closed.append((state["tracker"]["run"]["start"], state["tracker"]["run"]["end"]))
    return [
        ["lines written", f"{len(text) - 1:,}"],
        ["rows accepted", f"{counts['rows']:,}"],
        ["of them late but in time", f"{counts['out_of_order']:,}"],
        ["refused as repeated / too late", f"{counts['duplicate']} / {counts['late']}"],
        ["gaps, rows left out", f"{counts['gaps']}, {counts['absent']:,}"],
        ["events of `caps watch`, killed twice", str(len(closed))],
        ["events of the batch", str(len(batch))],
        ["equal", "yes" if closed == batch else "NO"],
        ["told twice", str(len(lines) - len({line["id"] for line in lines}))],
        ["refit recommended", "yes" if state["drift"]["found"] else "no"],
    ]


def _states(folder: Path) -> list[dict]:
    found = []
    for manifest in folder.glob("*/manifest.json"):
        try:
            found.append(json.loads(manifest.read_text()))
        except (OSError, ValueError):  # just being replaced
            continue
    return found


def _wait(folder: Path, offset: int) -> None:
    while all(
        state["extra"]["sources"]["input"]["position"]["offset"] < offset
        for state in _states(folder)
    ):
        time.sleep(0.05)


def _speed(model: CAPS) -> Facts:
    """Processor time of a row that comes alone, and of one among many."""
    rng = np.random.default_rng(SEED + 2)
    values = _traffic(rng, 8_000)
    times = np.datetime64("2025-01-01", "ns") + STEP * np.arange(len(values))
    stream, spent = model.stream(), []
    for value, moment in zip(values[:3_000], times[:3_000], strict=True):
        start = time.process_time()
        stream.update(value, moment)
        spent.append(time.process_time() - start)
    settled = 1e3 * np.array(spent[500:])
    start = time.process_time()
    stream.extend(values[3_000:], times[3_000:])
    many = 1e3 * (time.process_time() - start) / 5_000
    return [
        ["one row at a time, mean", f"{settled.mean():.2f} ms"],
        ["one row at a time, median", f"{np.median(settled):.2f} ms"],
        ["one row at a time, 99 of 100 below", f"{np.quantile(settled, 0.99):.2f} ms"],
        [f"{GROUP} rows at once, each", f"{many:.2f} ms"],
    ]


def _memory(model: CAPS, rows: int) -> Facts:
    """Resident memory along a long stream, and the size of its state."""
    rng = np.random.default_rng(SEED + 3)
    stream, done, facts = model.stream(lateness=LATENESS), 0, []
    marks = sorted({rows // 100, rows // 10, rows // 2, rows})
    first = np.datetime64("2025-01-01", "ns")
    while done < rows:
        size = min(GROUP, rows - done)
        times = first + STEP * np.arange(done, done + size)
        stream.extend(_traffic(rng, size, done), times)
        done += size
        while marks and done >= marks[0]:
            facts.append([f"after {marks.pop(0):,} rows", f"{resident() / 1e6:.0f} MB"])
    with tempfile.TemporaryDirectory() as folder:
        stream.save(Path(folder) / "state")
        return [*facts, ["state on disk", f"{size_of(Path(folder)) / 1e3:.0f} kB"]]


def _drift(weights: Pretrained) -> Facts:
    """Rows until a refit is recommended: on series as before, and after a change."""
    facts = []
    for index, name in enumerate(KINDS):
        rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index,)))
        made = UNSEEN[name](rng, TRAIN + ROWS)
        both = CAPS(causal=True, seed=index, pretrained=weights, detector="auto", members=1)
        model = both.fit(made[:TRAIN])
        before = _rows_until_found(model, made[TRAIN:])
        other = UNSEEN[KINDS[(index + 1) % len(KINDS)]](rng, 6_000)
        other = (other - other.mean()) / other.std() * made[:TRAIN].std() + made[:TRAIN].mean()
        changed = _rows_until_found(model, other)
        facts.append([name, _recommended(before, ROWS), _recommended(changed, len(other))])
    return facts


def _rows_until_found(model: CAPS, values: np.ndarray) -> int | None:
    analysis = model.analyze(values)
    watch = DriftWatch(model.fitted_.calibration)
    watch.watch(analysis.p_value)
    return watch.rows if watch.found else None


def _recommended(found: int | None, rows: int) -> str:
    return f"no, in {rows:,} rows" if found is None else f"yes, after {found:,} rows"
