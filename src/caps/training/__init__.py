"""The training loop that every stage of CAPS uses."""

from caps.training.loop import TrainingResult, start_fabric, train
from caps.training.progress import Progress, Report
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
