"""One runner for many tasks, in processes of this machine or on Ray; one guarded process alone."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.jobs.engines import (
        Engine as Engine,
        EngineName as EngineName,
        ProcessEngine as ProcessEngine,
        RayEngine as RayEngine,
        open_engine as open_engine,
        run_tasks as run_tasks,
    )
    from caps.jobs.threads import (
        ONE_THREAD as ONE_THREAD,
        cores as cores,
        in_threads as in_threads,
        in_torch_threads as in_torch_threads,
        one_thread as one_thread,
        set_default_threads as set_default_threads,
        single_products as single_products,
    )
    from caps.jobs.worker import (
        Lost as Lost,
        Report as Report,
        Worker as Worker,
        end_with_parent as end_with_parent,
        printed as printed,
        report as report,
    )

__getattr__ = on_first_use(__name__)
