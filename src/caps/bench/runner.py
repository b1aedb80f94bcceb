"""A run: every method with every seed on every series, except cells that are already there."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from caps.arrays import FloatArray
from caps.bench.cells import Cell, Record, failed_record, of_other_settings, read_cell, write_cell
from caps.bench.datasets import SeriesFile
from caps.bench.execution import run_cell
from caps.bench.methods import make_method
from caps.bench.settings import MakeMethod, config_hash
from caps.errors import InputError
from caps.jobs import EngineName, Lost, open_engine, printed, run_tasks

MINUTES = 30.0  # limit of one cell


@dataclass(frozen=True, slots=True)
class Task:
    """A cell to compute and the series it needs."""

    cell: Cell
    file: SeriesFile


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a cell is to hold beside its metrics."""

    scores: bool = False
    operator: bool = False


@dataclass(slots=True)
class Run:
    """Where a run stands."""

    total: int  # cells of the run
    skipped: int  # there before
    outdated: int  # there too, but computed with other settings; left alone
    jobs: int
    done: int = 0
    failed: int = 0
    seconds: float = 0.0  # since it began
    busy_seconds: float = 0.0  # of the children, spent on series, methods and metrics

    @property
    def computed(self) -> int:
        """Cells that ended in this sitting."""
        return self.done + self.failed

    @property
    def overhead(self) -> float:
        """Share of the time of all jobs that went to anything but cells."""
        jobs = max(1, min(self.jobs, self.computed))
        return 1 - self.busy_seconds / (jobs * self.seconds) if self.seconds else 0.0


RunProgress = Callable[[Run, Task, Record], None]  # called when a cell has ended


def run(
    files: Sequence[SeriesFile],
    methods: Sequence[str],
    out: Path,
    *,
    seeds: Sequence[int] = (0,),
    jobs: int = 1,
    minutes: float = MINUTES,
    save_scores: bool = False,
    operator: bool = False,
    retry_failed: bool = False,
    engine: EngineName = "local",
    make: MakeMethod = make_method,
    progress: RunProgress | None = None,
) -> Run:
    """Compute the cells that `out` lacks; safe to stop at any time and to call again.

    With `save_scores` cells without their scores count as lacking, with `operator` those without
    figures at an alarm budget.

    `make` gives a method by name and seed, from the table of `caps.bench.methods` if left out. It
    must be a function that child processes can import: at the top of a module.
    """
    _check(files, methods, seeds, jobs, minutes)
    tasks = planned(files, methods, seeds, make)
    wanted = Wanted(save_scores, operator)
    todo = [task for task in tasks if _is_open(task.cell, out, wanted, retry_failed)]
    outdated = of_other_settings((task.cell for task in tasks), out)
    state = Run(len(tasks), skipped=len(tasks) - len(todo), outdated=outdated, jobs=jobs)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    address = os.environ.get("RAY_ADDRESS") if engine == "ray" else None
    with open_engine(engine, workers=jobs, seconds=60 * minutes, ray_address=address) as opened:
        for task, result, _ in run_tasks(todo, partial(compute, make, wanted), opened):
            record, scores = _lost(task, result) if isinstance(result, Lost) else result
            _keep_operator(task.cell.path(out), record)
            write_cell(out, task.cell, record, scores)
            state.seconds = time.perf_counter() - began
            state.busy_seconds += sum(record["seconds"].values())
            state.done += record["status"] == "done"
            state.failed += record["status"] == "failed"
            if progress is not None:
                progress(state, task, record)
    state.seconds = time.perf_counter() - began
    return state


def compute(make: MakeMethod, wanted: Wanted, task: Task) -> tuple[Record, FloatArray | None]:
    """The record of a cell and the scores to save, wherever it is computed."""
    record, scores = run_cell(task.cell, task.file, make, operator=wanted.operator)
    if record["status"] == "failed":
        record["output"] = printed()
    return record, scores if wanted.scores else None


def planned(
    files: Sequence[SeriesFile], methods: Sequence[str], seeds: Sequence[int], make: MakeMethod
) -> list[Task]:
    """Every cell, series by series, so that a part of a run compares all methods."""
    configs = {name: config_hash(name, make) for name in dict.fromkeys(methods)}
    return [
        Task(Cell(file.dataset, file.name, name, config, seed), file)
        for seed in dict.fromkeys(seeds)
        for file in files
        for name, config in configs.items()
    ]


def _lost(task: Task, lost: Lost) -> tuple[Record, None]:
    """The record that the child could not make."""
    facts = {"seconds": {"lost": lost.seconds}}
    return failed_record(task.cell, lost.kind, lost.problem, lost.output, facts), None


def _keep_operator(path: Path, record: Record) -> None:
    """A cell computed again for its scores keeps the figures at a budget that it had."""
    before = read_cell(path)
    if before is not None and "operator" in before and record["status"] == "done":
        record.setdefault("operator", before["operator"])


def _is_open(cell: Cell, out: Path, wanted: Wanted, retry_failed: bool) -> bool:
    path = cell.path(out)
    record = read_cell(path)
    if record is None:
        return True
    if record["status"] == "failed":
        return retry_failed
    if wanted.operator and "operator" not in record:
        return True
    return wanted.scores and not path.with_suffix(".npy").is_file()


def _check(
    files: Sequence[SeriesFile],
    methods: Sequence[str],
    seeds: Sequence[int],
    jobs: int,
    minutes: float,
) -> None:
    for things, name in ((files, "series"), (methods, "method"), (seeds, "seed")):
        if not things:
            raise InputError(f"no {name} to run", f"choose at least one {name}")
    if jobs < 1:
        raise InputError(f"--jobs {jobs}", "give 1 or more")
    if not minutes > 0:
        raise InputError(f"--minutes {minutes:g}", "give a limit above 0")
    if min(seeds) < 0:
        raise InputError(f"seed {min(seeds)}", "give 0 or positive whole numbers")
