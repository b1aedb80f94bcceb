"""The training loop that every stage of CAPS uses."""

from caps.training.loop import Progress, Report, TrainingResult, start_fabric, train
from caps.training.randomness import seeded
from caps.training.run import Batches, DivergedError
from caps.training.schedule import Schedule

__all__ = [
    "Batches",
    "DivergedError",
    "Progress",
    "Report",
    "Schedule",
    "TrainingResult",
    "seeded",
    "start_fabric",
    "train",
]
