"""The benchmark: every method on TSB-AD data, resumable, with the paper's tables."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.bench.cells import Record as Record
    from caps.bench.datasets import find_series as find_series
    from caps.bench.methods import METHODS as METHODS
    from caps.bench.rendering import as_json as as_json, markdown as markdown
    from caps.bench.runner import Run as Run, Task as Task, run as run
    from caps.bench.selection import (
        listed_names as listed_names,
        missing_of as missing_of,
        select as select,
        series_of as series_of,
    )
    from caps.bench.studies.catalogue import STUDIES as STUDIES, run_study as run_study
    from caps.bench.studies.study import StudyRun as StudyRun, write_sections as write_sections
    from caps.bench.submission import (
        export_scores as export_scores,
        write_leaderboard as write_leaderboard,
    )
    from caps.bench.tables import build_tables as build_tables, write_tables as write_tables

__getattr__ = on_first_use(__name__)
