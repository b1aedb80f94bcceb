"""The training loop that every stage of CAPS uses."""

from caps.training.loop import TrainingResult, start_fabric, train
from caps.training.progress import Bar, Lines, Progress, Report, bar_or_lines
from caps.training.randomness import seeded
from caps.training.run import Batches, DivergedError
from caps.training.schedule import Schedule

__all__ = [
    "Bar",
    "Batches",
    "DivergedError",
    "Lines",
    "Progress",
    "Report",
    "Schedule",
    "TrainingResult",
    "bar_or_lines",
    "seeded",
    "start_fabric",
    "train",
]
