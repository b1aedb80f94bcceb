"""From recovered pairs to events: detector networks, training, scores, threshold, events."""

from caps.detect.analysis import Analysis, ChannelView, Explanation
from caps.detect.config import PAPER, TRANSFORMER, DetectorConfig
from caps.detect.counterpart import normal_counterpart
from caps.detect.estimator import CAPS
from caps.detect.events import Event, EventRules, find_events
from caps.detect.learning import train_detector
from caps.detect.networks import Detector, TcnDetector, TransformerDetector
from caps.detect.scoring import score_chunks, score_logits, score_series
from caps.detect.threshold import Calibration, alarm_rate, calibrate, held_out_blocks

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
