"""Streams of a model: rows as they come, each stream continued after a restart."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from caps.detect import CAPS
from caps.detect.stream import Stream
from caps.errors import ArtifactError
from caps.serve.files import NAME
from caps.serve.refusals import missing, taken

MOST_STREAMS = 1000  # of one fit


@dataclass(eq=False)
class LiveStream:
    """A stream in memory and its folder; used by one thread at a time.

    The state is written beside the last one, which goes only then: a process killed in between
    leaves at least one of them.
    """

    stream: Stream
    folder: Path
    lock: Lock = field(default_factory=Lock)
    written: int = 0

    def keep(self) -> None:
        """Write the state."""
        self.written += 1
        self.stream.save(self.folder / str(self.written))
        for path in _states(self.folder)[:-1]:
            shutil.rmtree(path, ignore_errors=True)


def open_stream(model: CAPS, fit: Path, name: str, lateness: int) -> LiveStream:
    """Continue a stream, or begin it."""
    folder = _path(fit, name)
    for path in reversed(_states(folder)):
        try:
            return LiveStream(
                model.stream(lateness=lateness, state=path), folder, written=int(path.name)
            )
        except ArtifactError:  # cut off while it was written: the one before it is whole
            continue
    parent = folder.parent
    if parent.is_dir() and sum(1 for _ in parent.iterdir()) >= MOST_STREAMS:
        raise taken(f"the model has {MOST_STREAMS} streams already", "end some of them")
    return LiveStream(model.stream(lateness=lateness), folder)


def delete_stream(fit: Path, name: str) -> None:
    """Forget a stream."""
    folder = _path(fit, name)
    if not folder.is_dir():
        raise missing("stream", name)
    shutil.rmtree(folder)


def _path(fit: Path, name: str) -> Path:
    if not re.fullmatch(NAME, name):
        raise missing("stream", name)
    return fit / "streams" / name


def _states(folder: Path) -> list[Path]:
    """States written, the newest last."""
    if not folder.is_dir():
        return []
    return sorted(
        (path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
    )
