"""Matched pairs (x_n, x_a, m, k): normal series, anomaly operations, and the pairs they make."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.simulate.anomaly.catalogue import CATALOGUE as CATALOGUE, OPERATIONS as OPERATIONS
    from caps.simulate.anomaly.operation import (
        FAMILIES as FAMILIES,
        Bases as Bases,
        Operation as Operation,
        Place as Place,
        in_context as in_context,
        survey as survey,
    )
    from caps.simulate.conditional import simulate_counterparts as simulate_counterparts
    from caps.simulate.normal.catalogue import (
        GENERATORS as GENERATORS,
        draw_normal as draw_normal,
        simulate_normal as simulate_normal,
    )
    from caps.simulate.pairs import (
        PARAMETERS as PARAMETERS,
        WINDOW as WINDOW,
        PairBatch as PairBatch,
        visible as visible,
    )
    from caps.simulate.simulator import simulate_pairs as simulate_pairs
    from caps.simulate.storage import (
        KIND as KIND,
        load_pairs as load_pairs,
        save_pairs as save_pairs,
    )
    from caps.simulate.summary import Summary as Summary, summarise as summarise
    from caps.simulate.telemetry import (
        STEPS_PER_DAY as STEPS_PER_DAY,
        Incident as Incident,
        Telemetry as Telemetry,
        month_of_telemetry as month_of_telemetry,
    )

__getattr__ = on_first_use(__name__)
