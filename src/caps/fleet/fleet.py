"""Fit or score many series: plan, skip what is finished, run, put the results together."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import caps
from caps.artifacts import write_text
from caps.errors import InputError
from caps.fleet.plan import Entry
from caps.fleet.summary import render_summary
from caps.fleet.tables import PARQUET, series_columns, write_part
from caps.fleet.work import JOURNAL, MODELS, Row, ScoreOptions, Task, ended, work
from caps.jobs import Engine, EngineName, Lost, open_engine, run_tasks
from caps.json_text import parse_json
from caps.replacing import check_room
from caps.scoring import FitOptions
from caps.series import need_pyarrow

TABLE = "series.parquet"
PAGE = "summary.html"
KIND = "caps.fleet"

# Called with what was done so far and the share of all series.
FleetProgress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class FleetResult:
    """What became of every series, the most severe first, failures last."""

    job: str
    out: Path
    series: tuple[dict[str, Any], ...]
    skipped: int  # finished before
    seconds: float

    @property
    def done(self) -> list[dict[str, Any]]:
        """The series that were worked on with success, now or before."""
        return [each for each in self.series if each["status"] == "done"]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The others, each with its reason."""
        return [each for each in self.series if each["status"] != "done"]

    def facts(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        return {
            "job": self.job,
            "out": str(self.out),
            "series": len(self.series),
            "done": len(self.done),
            "skipped": self.skipped,
            "failed": len(self.failures),
            "seconds": round(self.seconds, 3),
            "ranking": list(self.done),
            "failures": [
                {name: each[name] for name in ("series", "reason", "attempts")}
                for each in self.failures
            ],
        }


class Running(TypedDict, total=False):
    """How the work is done: where, how many series at a time, and how often one is tried again."""

    engine: EngineName | Engine  # "local" if left out
    workers: int | None
    ray_address: str | None
    retries: int
    progress: FleetProgress | None


def fit_fleet(
    entries: Sequence[Entry],
    out: str | Path,
    options: FitOptions | None = None,
    **running: Unpack[Running],
) -> FleetResult:
    """Fit one model for each series, score the series with it, and write everything to `out`.

    A series that was finished with the same options and an unchanged file is skipped, so a run
    that was stopped goes on where it was.
    """
    options = (options or FitOptions()).for_own_rows()
    return _carry_out("fit", entries, Path(out).absolute(), options, **running)


def score_fleet(
    entries: Sequence[Entry],
    models: str | Path,
    out: str | Path,
    options: ScoreOptions | None = None,
    **running: Unpack[Running],
) -> FleetResult:
    """Score each series with the model of its id in `models`, a folder written by `fit_fleet`."""
    folder, home = Path(out).absolute(), Path(models).absolute()
    if not (home / MODELS).is_dir():
        raise InputError(f"{models} holds no fleet of models", "fit one with `caps fleet fit`")
    if folder == home:
        raise InputError(f"{out} holds the models", "name another folder with --out")
    options = options or ScoreOptions()
    return _carry_out("score", entries, folder, options, home / MODELS, **running)


def _carry_out(
    job: str,
    entries: Sequence[Entry],
    out: Path,
    options: FitOptions | ScoreOptions,
    models: Path | None = None,
    *,
    engine: EngineName | Engine = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    retries: int = 2,
    progress: FleetProgress | None = None,
) -> FleetResult:
    started = time.monotonic()
    weights = options.pretrained
    if weights is not None and not isinstance(weights, str | os.PathLike):
        raise InputError("weights that are no folder", "name one: every process loads its own")
    home = None if weights is None else str(Path(weights).absolute())  # workers have other folders
    tasks = [Task(entry.located(), options, out, home, models) for entry in entries]
    need_pyarrow(PARQUET)  # or refuse to start what could not be written
    _claim(out, job, options, len(tasks))
    finished = {task.entry.id: task.finished() for task in tasks}
    rows = {
        id: {**ended(id, "done", **facts), "attempts": 0}
        for id, facts in finished.items()
        if facts is not None
    }
    remaining = [task for task in tasks if task.entry.id not in rows]
    skipped, failed = len(rows), 0
    if remaining:
        with open_engine(engine, workers=workers, ray_address=ray_address) as opened:
            for task, row, attempts in run_tasks(
                remaining,
                work,
                opened,
                retries=retries,
                failed=lambda row: isinstance(row, Lost) or row["status"] == "failed",
            ):
                id = task.entry.id
                found = _blamed(id, row) if isinstance(row, Lost) else row
                rows[id] = {**found, "attempts": attempts}
                failed += rows[id]["status"] != "done"
                if progress is not None:
                    text = f"{len(rows)} of {len(tasks)} series"
                    text += f", {failed} failed" if failed else ""
                    progress(text, (len(rows) - skipped) / len(remaining))
    ranked = tuple(sorted(rows.values(), key=_rank))
    write_part(out / TABLE, "series", series_columns(ranked))
    result = FleetResult(job, out, ranked, skipped, time.monotonic() - started)
    write_text(out / PAGE, render_summary(result))
    return result


def _blamed(id: str, lost: Lost) -> Row:
    """A series whose work could not tell how it ended."""
    reason = f"its process died ({lost.problem}; out of memory?)"
    if lost.kind == "error":  # the work itself never raises: it could not be loaded there
        reason = f"the work does not run there: {lost.problem}"
    return ended(id, "failed", reason)


def _claim(out: Path, job: str, options: FitOptions | ScoreOptions, series: int) -> None:
    """Make the folder one of this job, or see that it is."""
    journal = out / JOURNAL
    check_room(out)
    if not journal.is_file() and out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} holds files that are no fleet", "name a new folder with --out")
    if journal.is_file():
        try:
            known = parse_json(journal.read_text(encoding="utf-8"))
        except ValueError:
            known = None
        if not isinstance(known, dict) or (known.get("kind"), known.get("job")) != (KIND, job):
            raise InputError(f"{out} belongs to another job", "name another folder with --out")
    facts = {
        "kind": KIND,
        "job": job,
        "caps": caps.__version__,
        "series": series,
        "options": options.to_dict(),
    }
    write_text(journal, json.dumps(facts, indent=1) + "\n")


def _rank(row: dict[str, Any]) -> tuple[bool, float, int, str]:
    severity, events = row.get("severity") or 0.0, row.get("events") or 0
    return row["status"] != "done", -severity, -events, row["series"]
