"""The benchmark: every method on TSB-AD data, resumable, with the paper's tables."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.bench.cells import Record
    from caps.bench.datasets import find_series
    from caps.bench.leaderboard import write_leaderboard
    from caps.bench.methods import METHODS
    from caps.bench.rendering import as_json, markdown
    from caps.bench.runner import Run, Task, run
    from caps.bench.selection import listed_names, missing_of, select, series_of
    from caps.bench.studies.catalogue import STUDIES, run_study
    from caps.bench.studies.study import StudyRun, write_sections
    from caps.bench.submission import export_scores
    from caps.bench.tables import build_tables, missing_series, write_tables

__all__ = [
    "METHODS",
    "STUDIES",
    "Record",
    "Run",
    "StudyRun",
    "Task",
    "as_json",
    "build_tables",
    "export_scores",
    "find_series",
    "listed_names",
    "markdown",
    "missing_of",
    "missing_series",
    "run",
    "run_study",
    "select",
    "series_of",
    "write_leaderboard",
    "write_sections",
    "write_tables",
]

__getattr__ = on_first_use(__name__)
