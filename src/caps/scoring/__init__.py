"""From a fitted model to scores: evidence of each channel, calibration, the model and its files."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.scoring.bands import Band
    from caps.scoring.calibration import Calibration, alarm_rate, calibrate
    from caps.scoring.channels import LearnedChannel
    from caps.scoring.config import (
        CalibrationConfig,
        CounterConfig,
        ModelConfig,
        ScoringConfig,
        SteadyConfig,
    )
    from caps.scoring.context import NEW
    from caps.scoring.description import build, describe
    from caps.scoring.evidence import NOTABLE, Aggregate, carrying, shares
    from caps.scoring.fitted import Fitted, Scores
    from caps.scoring.fitting import FitProgress, fit
    from caps.scoring.following import Follower
    from caps.scoring.input import (
        Moment,
        Span,
        on_regular_grid,
        read_channels,
        read_input,
        spans_of,
    )
    from caps.scoring.learned import Learned, rows_to_learn
    from caps.scoring.measures import Part
    from caps.scoring.memory import Memory
    from caps.scoring.options import OPTIONS, FitOptions
    from caps.scoring.spans import EventRules, event_spans, odd_rows
    from caps.scoring.standardiser import Standardiser
    from caps.scoring.storage import KIND, load_model, save_model

__all__ = [
    "KIND",
    "NEW",
    "NOTABLE",
    "OPTIONS",
    "Aggregate",
    "Band",
    "Calibration",
    "CalibrationConfig",
    "CounterConfig",
    "EventRules",
    "FitOptions",
    "FitProgress",
    "Fitted",
    "Follower",
    "Learned",
    "LearnedChannel",
    "Memory",
    "ModelConfig",
    "Moment",
    "Part",
    "Scores",
    "ScoringConfig",
    "Span",
    "Standardiser",
    "SteadyConfig",
    "alarm_rate",
    "build",
    "calibrate",
    "carrying",
    "describe",
    "event_spans",
    "fit",
    "load_model",
    "odd_rows",
    "on_regular_grid",
    "read_channels",
    "read_input",
    "rows_to_learn",
    "save_model",
    "shares",
    "spans_of",
]

__getattr__ = on_first_use(__name__)
