"""The training loop that every stage of CAPS uses."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.training.convolutions import (
        Convolution as Convolution,
        TransposedConvolution as TransposedConvolution,
        along_time as along_time,
    )
    from caps.training.loop import (
        Progress as Progress,
        Report as Report,
        TrainingResult as TrainingResult,
        start_fabric as start_fabric,
        train as train,
    )
    from caps.training.randomness import seeded as seeded
    from caps.training.run import Batches as Batches, DivergedError as DivergedError
    from caps.training.schedule import Schedule as Schedule

__getattr__ = on_first_use(__name__)
