"""Many series on one or many machines: one CAPS model each, with shared pretrained modules."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.fleet.fleet import (
        PAGE as PAGE,
        TABLE as TABLE,
        FleetResult as FleetResult,
        fit_fleet as fit_fleet,
        score_fleet as score_fleet,
    )
    from caps.fleet.plan import Entry as Entry, file_name as file_name, find_series as find_series
    from caps.fleet.summary import lead as lead
    from caps.fleet.work import ScoreOptions as ScoreOptions

__getattr__ = on_first_use(__name__)
