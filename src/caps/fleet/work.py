"""The work on one series, the same on every engine: fit or score, write, say how it went."""

import hashlib
import json
import os
import socket
import time
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from caps.artifacts import write_text
from caps.errors import CapsError, InputError
from caps.events import score_table
from caps.fleet.plan import Entry
from caps.fleet.tables import event_columns, score_columns, strongest, write_part
from caps.json_text import parse_json
from caps.planned import Planned
from caps.scoring import FitOptions
from caps.series import Series, read
from caps.store import Store

if TYPE_CHECKING:
    from caps.estimator import CAPS

JOURNAL = "fleet.json"  # in the folder of a fleet from the start
MODELS, SCORES, EVENTS, DONE = "models", "scores", "events", "done"

Status = Literal["done", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How all series of a fleet are scored; None leaves a choice to the model."""

    alarms: str | None = None
    time: str | None = None
    pretrained: str | os.PathLike[str] | None = None
    planned: Planned = field(default_factory=Planned)  # events in them are no alarms

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without what belongs to a machine."""
        planned = {"planned": repr(self.planned)} if self.planned else {}
        return {"alarms": self.alarms, "time": self.time, **planned}


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One series and what to do with it; `weights` and `models`, to score with, are folders."""

    entry: Entry
    options: FitOptions | ScoreOptions
    out: Path
    weights: str | None = None
    models: Path | None = None

    @property
    def key(self) -> str:
        """Changes with everything the result depends on: a result with the same key is kept."""
        entry = self.entry
        content = {
            "series": [entry.id, str(entry.source if isinstance(entry.source, Path) else "")],
            "rows": [entry.stamp, entry.columns, entry.train],
            "options": self.options.to_dict(),
            "weights": _digest(self.weights),
            "model": _digest(None if self.models is None else self.models / entry.name),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def marker(self) -> Path:
        """The file that says the series is finished; written last."""
        return self.out / DONE / f"{self.entry.name}.json"

    def finished(self) -> dict[str, Any] | None:
        """The facts of an earlier run with the same key."""
        try:
            content = parse_json(self.marker.read_text(encoding="utf-8"))
            return dict(content["facts"]) if content["key"] == self.key else None
        except (OSError, ValueError, TypeError, KeyError):  # none yet, or cut off
            return None


Row = dict[str, Any]  # of the table of series: its status among other facts


def ended(id: str, status: Status, reason: str | None = None, **facts: Any) -> Row:
    """How the work on one series ended; "refused" is bad input, which no retry mends."""
    return {"series": id, "status": status, "reason": reason, **facts}


def work(task: Task) -> Row:
    """Fit or score one series. Never raises on what one series can do wrong."""
    try:
        if not (task.out / JOURNAL).is_file():
            raise InputError(
                f"{task.out} is not there on {socket.gethostname()}",
                "put the series and --out on a folder that all machines share",
            )
        facts = _fitted(task) if task.models is None else _scored(task)
    except InputError as error:
        return ended(task.entry.id, "refused", str(error))
    except CapsError as error:
        return ended(task.entry.id, "failed", str(error))
    except Exception as error:
        return ended(task.entry.id, "failed", f"{type(error).__name__}: {error}")
    return ended(task.entry.id, "done", **facts)


def _fitted(task: Task) -> dict[str, Any]:
    from caps.estimator import CAPS  # a fifth of a second that a refusal does without

    entry = task.entry
    assert isinstance(task.options, FitOptions)
    train = entry.train or task.options.train
    weights = task.weights if task.options.detector is None else _weights(task.weights)
    options = replace(task.options, train=train, columns=entry.columns, pretrained=weights)
    series, model = _series(task, entry.columns, options.time), CAPS(**options.parameters())
    started, used = time.monotonic(), time.process_time()
    model.fit(series)
    extra = {
        "train_rows": len(model.learned_),
        "learned": model.learned_.part,
        "model": f"{MODELS}/{entry.name}",
        "fit_seconds": time.monotonic() - started,
        "fit_cpu_seconds": time.process_time() - used,
    }
    return _write(task, model, series, extra)


def _scored(task: Task) -> dict[str, Any]:
    from caps.estimator import CAPS  # a fifth of a second that a refusal does without

    entry, options = task.entry, task.options
    assert task.models is not None
    folder = task.models / entry.name
    if not folder.is_dir():
        raise InputError(
            f"there is no model of {entry.id!r} in {task.models}", "fit this series first"
        )
    model = CAPS.load(folder, pretrained=task.weights)
    if options.alarms is not None:
        model.set_alarms(options.alarms)
    if isinstance(options, ScoreOptions):
        model.set_planned(options.planned, entry.id)
    clock = model.time if options.time is None else options.time
    series = _series(task, entry.columns or tuple(model.fitted_.names), clock)
    return _write(task, model, series, {"model": str(folder)})


def _write(task: Task, model: "CAPS", series: Series, extra: dict[str, Any]) -> dict[str, Any]:
    """Write model, scores and events, then the marker; return the facts of the series."""
    entry, analysis = task.entry, model.analyze(series)
    scores = score_columns(entry.id, series, score_table(analysis))
    explained = analysis.explanations()
    events = event_columns(entry.id, explained)
    alarms = event_columns(entry.id, [each for each in explained if each.alarm])
    task.marker.unlink(missing_ok=True)  # of other options: what it speaks of is replaced now
    if task.models is None:
        _keep(model, series, task.out / MODELS / entry.name)
    write_part(task.out / SCORES / f"{entry.name}.parquet", SCORES, scores)
    write_part(task.out / EVENTS / f"{entry.name}.parquet", EVENTS, events)
    rows, times = len(series), scores["time"]
    facts = {
        "rows": rows,
        "first_time": None if times is None else str(times[0]),
        "last_time": None if times is None else str(times[-1]),
        "channels": list(series.channels),
        "alarms": str(model.alarms),
        "threshold": model.threshold_,
        "flagged": int(scores["flag"].sum()),
        "events": len(alarms["event"]),
        "silenced": len(events["event"]) - len(alarms["event"]),
        "expected_events": model.expected_alarms_["per 1000 rows"] * rows / 1000,
        **strongest(alarms),
        **extra,
        "notes": list(dict.fromkeys([*series.notes(), *analysis.notes, *model.notes_])),
    }
    write_text(task.marker, json.dumps({"key": task.key, "facts": facts}, indent=1) + "\n")
    return facts


def _keep(model: "CAPS", series: Series, folder: Path) -> None:
    """Save a model, or put it in force as a version where there are versions already."""
    if not Store.is_at(folder):
        model.save(folder)
        return
    from caps.refit import fitted_on  # as the estimator: 0.2 s

    facts = fitted_on(model, series)
    made = Store(folder).add(model.save, why="asked for", source="fleet", **facts)
    if Store(folder).current.name != made.name:
        Store(folder).promote(made.name, why="asked for")


def _series(task: Task, columns: tuple[str, ...] | None, time: Any) -> Series:
    source = task.entry.source
    return source if isinstance(source, Series) else read(source, columns=columns, time=time)


@cache
def _weights(folder: str | None) -> Any:
    """The pretrained modules, loaded once in a process."""
    from caps.realize import load_weights  # torch: two seconds, for detectors alone

    return load_weights(folder)


def _digest(folder: str | Path | None) -> str | None:
    """Of the manifest in a folder; what is missing is said where it is needed."""
    try:
        content = None if folder is None else Path(folder, "manifest.json").read_bytes()
    except OSError:
        content = None
    return None if content is None else hashlib.sha256(content).hexdigest()
