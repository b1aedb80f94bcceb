"""Scores, events and explanations of twenty series, for a change of form that must change nothing.

PYTHONPATH=tools python tools/checks/golden.py write GOLDEN.json [--data TSB-AD-U.zip]
PYTHONPATH=tools python tools/checks/golden.py compare GOLDEN.json [--data TSB-AD-U.zip]

Write with the tree before the change, compare with the tree after it (git worktree add). Only the
public interface is used: one and several channels, gaps, constant and two-valued channels, causal
and not, without a memory; with --data also real series, the shortest of each dataset.
"""

import argparse
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from unseen import UNSEEN

from caps import CAPS
from caps.network.config import DetectorConfig

ROWS, TRAIN = 2000, 1200
SMALL = DetectorConfig(width=16, members=1, steps=40, dilations=(1, 4, 16))
TOLERANCE = 1e-12
Case = tuple[str, pd.DataFrame, int, dict[str, Any]]  # name, table, training rows, options


def simulated() -> Iterator[Case]:
    """Series that the simulator does not make, with incidents, in the shapes that users have."""
    for place, (name, make) in enumerate(list(UNSEEN.items())[:6]):
        yield name, _with_incidents({name: make(np.random.default_rng(place), ROWS)}), TRAIN, {}
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


def real(archive: str) -> Iterator[Case]:
    """The shortest series of each dataset of an archive in TSB-AD's layout."""
    with zipfile.ZipFile(archive) as files:
        shortest: dict[str, zipfile.ZipInfo] = {}
        for info in sorted(files.infolist(), key=lambda info: (info.file_size, info.filename)):
            if info.filename.endswith(".csv"):
                shortest.setdefault(info.filename.rsplit("/")[-1].split("_")[1], info)
        for dataset, info in sorted(shortest.items()):
            table = pd.read_csv(files.open(info)).drop(columns="Label")
            yield dataset, table, int(info.filename.split("_tr_")[1].split("_")[0]), {}


def told(table: pd.DataFrame, train: int, options: dict[str, Any]) -> dict[str, Any]:
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


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Where two results differ by more than the tolerance."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from differences(before[key], after[key], f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{where}/{place}")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("golden")
    parser.add_argument("--data", help="TSB-AD-U.zip: real series too")
    asked = parser.parse_args()
    cases = [*simulated(), *(real(asked.data) if asked.data else ())]
    found = {}
    for name, table, train, options in cases:
        found[name] = json.loads(json.dumps(told(table, train, options)))
        print(f"{name}: {len(found[name]['events'])} events", flush=True)
    if asked.what == "write":
        with open(asked.golden, "w", encoding="utf-8") as file:
            json.dump(found, file)
        return
    with open(asked.golden, encoding="utf-8") as file:
        differing = list(differences(json.load(file), found))
    print("\n".join(differing[:40]) or f"{len(found)} series agree to {TOLERANCE:g}")
    raise SystemExit(bool(differing))


if __name__ == "__main__":
    main()
