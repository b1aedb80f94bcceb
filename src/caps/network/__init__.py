"""Detector networks: their sizes, their training, windows in and logits out."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.network.config import AUTO, PAPER, TRANSFORMER, DetectorConfig
    from caps.network.detector import Detector, score_logits, score_series, window_logits
    from caps.network.examples import (
        held_out,
        held_out_blocks,
        held_references,
        references_in,
    )
    from caps.network.learning import train_detector
    from caps.network.logistic import expit, logit
    from caps.network.networks import DilatedBlock, TcnDetector, TransformerDetector
    from caps.network.stored import detector_arrays, detector_of
    from caps.network.windowed import RowDetector, row_logits

__all__ = [
    "AUTO",
    "PAPER",
    "TRANSFORMER",
    "Detector",
    "DetectorConfig",
    "DilatedBlock",
    "RowDetector",
    "TcnDetector",
    "TransformerDetector",
    "detector_arrays",
    "detector_of",
    "expit",
    "held_out",
    "held_out_blocks",
    "held_references",
    "logit",
    "references_in",
    "row_logits",
    "score_logits",
    "score_series",
    "train_detector",
    "window_logits",
]

__getattr__ = on_first_use(__name__)
