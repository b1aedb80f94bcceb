"""Scores, events and explanations of many series, for a change of form that must change nothing.

The first run keeps what it found in `OUT/kept/golden.json`, every later one compares with that:
run it with the tree before the change, then with the tree after it (git worktree add), with the
same --out and --data. Only the public interface is used: one and several channels, gaps, constant
and two-valued channels, causal and not, without a memory; with --data also real series, the
shortest of each dataset.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from caps import CAPS
from caps.artifacts import write_text
from caps.bench.datasets import SeriesFile
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.network import DetectorConfig
from tools.quality.unseen import UNSEEN
from tools.series_files import by_size, read_table

ROWS, TRAIN = 2000, 1200
SMALL = DetectorConfig(width=16, members=1, steps=40, dilations=(1, 4, 16))
TOLERANCE = 1e-12
LISTED = 40  # differences
QUICK_CASES = 3
Case = tuple[str, pd.DataFrame, int, dict[str, Any]]  # name, table, training rows, options


def golden(run: StudyRun) -> Report:
    """Write what a user gets of every series, or compare it with what was written."""
    kept = run.out / "kept" / "golden.json"
    cases = [*_simulated(), *_real(run.files)]
    found = {}
    for name, table, train, options in cases[: QUICK_CASES if run.quick else None]:
        found[name] = json.loads(json.dumps(_result(table, train, options)))
        run.say(f"{name}: {len(found[name]['events'])} events")
    differing: list[str] = []
    wanted = f"all {len(found)} series agree to {TOLERANCE:g} with those kept"
    if kept.is_file():
        differing = list(_differences(json.loads(kept.read_text(encoding="utf-8")), found))
    else:
        write_text(kept, json.dumps(found))
        wanted = f"nothing yet, {len(found)} series are kept to compare with"
    rows: list[list[Entry]] = [[name, str(len(each["events"]))] for name, each in found.items()]
    return Report(
        "Golden scores",
        [f"Small detectors, {ROWS:,} rows of simulated series, {TRAIN:,} of them for training."],
        [Table("golden", "Series", ["series", "events"], rows)],
        wanted="; ".join([wanted, *differing[:LISTED]]),
        passed=not differing,
    )


def _simulated() -> Iterator[Case]:
    """Series that the simulator does not make, with incidents, in the shapes that users have."""
    for index, (name, make) in enumerate(list(UNSEEN.items())[:6]):
        yield name, _with_incidents({name: make(np.random.default_rng(index), ROWS)}), TRAIN, {}
    rng = np.random.default_rng(99)
    table = _with_incidents({name: make(rng, ROWS) for name, make in list(UNSEEN.items())[6:9]})
    timed = table.assign(time=pd.date_range("2024-03-01", periods=ROWS, freq="10min", tz="UTC"))
    gaps = timed.mask(pd.DataFrame(rng.random(timed.shape) < 0.03, columns=timed.columns))
    gaps["time"] = timed["time"]
    still = table.assign(still=4.0, switch=(np.arange(ROWS) // 90 % 2).astype(float))
    still.loc[1700:1720, "still"] = 4.5
    yield "several channels", table, TRAIN, {}
    yield "times", timed, TRAIN, {"alarms": "1/day"}
    yield "gaps", gaps.drop(index=range(700, 730)), TRAIN - 30, {}
    yield "constant and two-valued", still, TRAIN, {}
    yield "two-valued and learned", still[["still", "switch"]], TRAIN, {}
    yield "top5", table, TRAIN, {"aggregate": "top5"}
    yield "causal", timed, TRAIN, {"causal": True}
    yield "causal with gaps", gaps, TRAIN, {"causal": True}
    yield "without a memory", table, TRAIN, {"memory": False}
    yield "causal without a memory", table, TRAIN, {"memory": False, "causal": True}
    yield "training only in part", timed.iloc[300:], TRAIN - 300, {}


def _real(files: Sequence[SeriesFile]) -> Iterator[Case]:
    """The shortest series of each dataset."""
    for dataset, group in by_size(files).items():
        yield dataset, read_table(group[0])[0], group[0].train, {}


def _result(table: pd.DataFrame, train: int, options: dict[str, Any]) -> dict[str, Any]:
    """What a user gets of one series."""
    model = CAPS(train=train, detector=SMALL, references=64, **options).fit(table)
    scores, events = model.score_frame(table), model.events(table)
    numbers = scores.select_dtypes("number")
    return {
        "scores": {name: numbers[name].tolist() for name in numbers},
        "events": json.loads(
            events.to_json(orient="records", double_precision=15, date_format="iso")
        ),
        "reasons": [model.explain(table, k + 1).reason for k in range(min(len(events), 5))],
        "threshold": model.threshold_,
        "notes": model.notes_,
    }


def _differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Where two results differ by more than the tolerance."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from _differences(before[key], after[key], f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{where}/{index}")
    elif isinstance(before, float) and isinstance(after, float):
        if not np.isclose(before, after, rtol=0, atol=TOLERANCE, equal_nan=True):
            yield f"{where}: {before!r} became {after!r}"
    elif before != after:
        yield f"{where}: {str(before)[:80]} became {str(after)[:80]}"


def _with_incidents(columns: dict[str, np.ndarray]) -> pd.DataFrame:
    table = pd.DataFrame(columns)
    first = table.columns[0]
    table.loc[1400:1420, first] += 5 * table[first].std()
    table.loc[1800, first] -= 9 * table[first].std()
    return table
