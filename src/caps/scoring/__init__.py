"""From a fitted model to scores: evidence of each channel, calibration, the model and its files."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.scoring.calibration import (
        Calibration as Calibration,
        alarm_rate as alarm_rate,
        calibrate as calibrate,
    )
    from caps.scoring.channels import LearnedChannel as LearnedChannel
    from caps.scoring.config import (
        CalibrationConfig as CalibrationConfig,
        CounterConfig as CounterConfig,
        JointConfig as JointConfig,
        ModelConfig as ModelConfig,
        ScoringConfig as ScoringConfig,
        SteadyConfig as SteadyConfig,
    )
    from caps.scoring.context import NEW as NEW
    from caps.scoring.description import build as build, describe as describe
    from caps.scoring.evidence import (
        Aggregate as Aggregate,
        carrying as carrying,
        shares as shares,
    )
    from caps.scoring.fitted import Fitted as Fitted, Scores as Scores
    from caps.scoring.fitting import FitProgress as FitProgress, fit as fit
    from caps.scoring.following import (
        Band as Band,
    )
    from caps.scoring.input import (
        Moment as Moment,
        on_regular_grid as on_regular_grid,
        read_channels as read_channels,
        read_input as read_input,
        spans_of as spans_of,
    )
    from caps.scoring.learned import Learned as Learned, rows_to_learn as rows_to_learn
    from caps.scoring.measures import Part as Part
    from caps.scoring.memory import Memory as Memory
    from caps.scoring.options import OPTIONS as OPTIONS, FitOptions as FitOptions
    from caps.scoring.spans import (
        EventRules as EventRules,
        event_spans as event_spans,
        odd_rows as odd_rows,
    )
    from caps.scoring.storage import (
        KIND as KIND,
        load_model as load_model,
        save_model as save_model,
    )

__getattr__ = on_first_use(__name__)
