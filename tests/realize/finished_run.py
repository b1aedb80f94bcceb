"""What the shared tiny pretraining run leaves behind."""

from dataclasses import dataclass
from pathlib import Path

from caps.realize import Pretrained

SEED = 4


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run: what it returned, where it lies and what it said."""

    returned: Pretrained
    folder: Path
    work: Path
    said: list[str]
