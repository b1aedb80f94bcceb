"""One runner for many tasks, in processes of this machine or on Ray; one guarded process alone."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.jobs.engines import (
        Engine,
        EngineName,
        ProcessEngine,
        RayEngine,
        open_engine,
        run_tasks,
    )
    from caps.jobs.threads import (
        ONE_THREAD,
        cores,
        in_threads,
        one_thread,
        set_default_threads,
        single_products,
    )
    from caps.jobs.worker import Lost, Report, Worker, end_with_parent, printed, report

__all__ = [
    "ONE_THREAD",
    "Engine",
    "EngineName",
    "Lost",
    "ProcessEngine",
    "RayEngine",
    "Report",
    "Worker",
    "cores",
    "end_with_parent",
    "in_threads",
    "one_thread",
    "open_engine",
    "printed",
    "report",
    "run_tasks",
    "set_default_threads",
    "single_products",
]

__getattr__ = on_first_use(__name__)
