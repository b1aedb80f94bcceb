"""The process of one fit: reads its job from standard input, prints progress as JSON lines.

A process of its own, so that a fit can be ended, run out of memory or crash without harm to the
service, and takes no time from scoring. It ends when its standard input does: then the service is
gone.
"""

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from caps.errors import CapsError
from caps.scoring import OPTIONS
from caps.serve.files import FACTS, MODEL, UNFINISHED
from caps.serve.refusals import FULL, disk_full

BETWEEN = 0.1  # seconds between lines of progress


def main() -> None:
    """Run the job on standard input; exit code 2 for input that cannot be used."""
    job = json.loads(sys.stdin.readline())
    with contextlib.suppress(OSError, AttributeError):
        os.nice(job["niceness"])
    threading.Thread(target=_end_with, args=(sys.stdin,), daemon=True).start()
    try:
        fit_and_save(job, Path(job["out"]))
    except CapsError as error:
        _tell(problem=error.problem, remedy=error.remedy)
        sys.exit(2)
    except Exception as error:
        _tell(**_reason(error))
        raise  # its traceback is for the service's log


def fit_and_save(job: dict[str, Any], out: Path) -> None:
    """Fit, and write model and facts to `out`, which appears as a whole."""
    import torch

    from caps.estimator import CAPS
    from caps.series import read

    torch.set_num_threads(1)
    started = time.monotonic()
    request = job["request"]
    given = {name: request[name] for name in OPTIONS if name in request} | job["estimator"]
    if request["detector"] is None:
        given["detector"] = None
    options = {name: OPTIONS[name].restored(value) for name, value in given.items()}
    _tell(stage="reading", share=0.0)
    series = read(job["data"], **job["options"])
    skip = request["skip"]
    kept = series[skip:].select(*(request["columns"] or series.channels))
    time_column, weights = job["options"].get("time"), job["pretrained"]
    model = CAPS(**options, time=time_column, pretrained=weights)
    model.fit(kept, known_anomalies=_shifted(request["known"], skip), progress=_Progress())
    _tell(stage="saving", share=1.0)
    train = len(kept.training_part(request["train"]))
    facts = {
        "channels": list(model.fitted_.names),
        "train": [skip, skip + train],
        "alarms": request["alarms"],
        "notes": list(dict.fromkeys([*kept.notes(), *model.notes_])),
        "seconds": round(time.monotonic() - started, 1),
    }
    staging = out.with_name(UNFINISHED + out.name)
    model.save(staging / MODEL)
    (staging / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    staging.rename(out)


class _Progress:
    """Prints where the fit stands, not more often than a person can read."""

    def __init__(self) -> None:
        self.told = 0.0

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if now - self.told >= BETWEEN:
            self.told = now
            _tell(stage=stage, share=share)


def _shifted(known: list[list[Any]], skip: int) -> list[tuple[Any, Any]]:
    """Known anomalies in rows after those skipped; moments stay."""

    def moved(place: Any) -> Any:
        return place - skip if isinstance(place, int) else place

    return [(moved(start), moved(end)) for start, end in known]


def _reason(error: Exception) -> dict[str, str]:
    """What is told of a fit that failed for no fault of its input."""
    if isinstance(error, OSError) and error.errno in FULL:
        full = disk_full()
        return {"problem": full.problem, "remedy": "make room there, then fit again"}
    if isinstance(error, MemoryError):
        return {"problem": "the fit ran out of memory", "remedy": "give fewer rows or channels"}
    told = f"the fit broke off ({type(error).__name__}: {error})"
    return {"problem": told[:500], "remedy": "see the service's log"}


def _tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def _end_with(stream: TextIO) -> None:
    while stream.read(1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
