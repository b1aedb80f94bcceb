"""From recovered pairs to events: detector networks, training, scores, threshold, events."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caps.detect.analysis import Analysis, ChannelView, Explanation
    from caps.detect.config import PAPER, TRANSFORMER, DetectorConfig
    from caps.detect.counterpart import normal_counterpart
    from caps.detect.estimator import CAPS
    from caps.detect.events import Event, EventRules, find_events
    from caps.detect.learning import train_detector
    from caps.detect.networks import Detector, TcnDetector, TransformerDetector
    from caps.detect.scoring import score_chunks, score_logits, score_series
    from caps.detect.threshold import Calibration, alarm_rate, calibrate, held_out_blocks

# Public names and where they live: resolved on first use, so that what scores without torch
# (docs/export.md) can be imported without it.
_HOMES = {
    "CAPS": "caps.detect.estimator",
    "PAPER": "caps.detect.config",
    "TRANSFORMER": "caps.detect.config",
    "Analysis": "caps.detect.analysis",
    "Calibration": "caps.detect.threshold",
    "ChannelView": "caps.detect.analysis",
    "Detector": "caps.detect.networks",
    "DetectorConfig": "caps.detect.config",
    "Event": "caps.detect.events",
    "EventRules": "caps.detect.events",
    "Explanation": "caps.detect.analysis",
    "TcnDetector": "caps.detect.networks",
    "TransformerDetector": "caps.detect.networks",
    "alarm_rate": "caps.detect.threshold",
    "calibrate": "caps.detect.threshold",
    "find_events": "caps.detect.events",
    "held_out_blocks": "caps.detect.threshold",
    "normal_counterpart": "caps.detect.counterpart",
    "score_chunks": "caps.detect.scoring",
    "score_logits": "caps.detect.scoring",
    "score_series": "caps.detect.scoring",
    "train_detector": "caps.detect.learning",
}

__all__ = [
    "CAPS",
    "PAPER",
    "TRANSFORMER",
    "Analysis",
    "Calibration",
    "ChannelView",
    "Detector",
    "DetectorConfig",
    "Event",
    "EventRules",
    "Explanation",
    "TcnDetector",
    "TransformerDetector",
    "alarm_rate",
    "calibrate",
    "find_events",
    "held_out_blocks",
    "normal_counterpart",
    "score_chunks",
    "score_logits",
    "score_series",
    "train_detector",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'caps.detect' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
