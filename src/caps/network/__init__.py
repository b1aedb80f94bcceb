"""Detector networks: their sizes, their training, windows in and logits out."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.network.config import (
        AUTO as AUTO,
        PAPER as PAPER,
        TRANSFORMER as TRANSFORMER,
        DetectorConfig as DetectorConfig,
    )
    from caps.network.detector import (
        Detector as Detector,
        detector_arrays as detector_arrays,
        detector_of as detector_of,
        score_logits as score_logits,
        score_series as score_series,
        window_logits as window_logits,
    )
    from caps.network.examples import (
        held_out as held_out,
        held_out_blocks as held_out_blocks,
        held_references as held_references,
        references_in as references_in,
    )
    from caps.network.learning import train_detector as train_detector
    from caps.network.networks import (
        DilatedBlock as DilatedBlock,
        TcnDetector as TcnDetector,
    )
    from caps.network.windowed import (
        RowDetector as RowDetector,
        expit as expit,
        logit as logit,
        row_logits as row_logits,
    )

__getattr__ = on_first_use(__name__)
