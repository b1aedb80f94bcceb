"""Streams of a model: rows as they come, each stream continued after a restart and after a refit.

What is in memory counts only once it is written: a request that failed, on a full disk for example,
has not happened, and can be sent again.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from caps.errors import ArtifactError
from caps.estimator import CAPS
from caps.serve.files import NAME, STREAMS, put_away
from caps.serve.refusals import missing, taken
from caps.stream import SavedStreams, Stream, Update, save_streams

MOST_STREAMS = 1000  # of one model
ID = ""  # there is one stream in a state
REFITTED = "the model was fitted again: the stream goes on, scored by the new fit"
ANEW = "the stream begins anew: the state it had does not fit the model"


@dataclass(frozen=True, slots=True)
class Taken:
    """What rows brought, and the stream after them; the note tells of a change of the model."""

    update: Update
    threshold: float
    counts: dict[str, int]
    note: str


@dataclass(eq=False)
class LiveStream:
    """A stream in memory and its folder.

    The state is written beside the last one, which goes only then: a process killed in between
    leaves at least one of them.
    """

    folder: Path
    lock: Lock = field(default_factory=Lock)  # one request at a time
    fit: Path | None = None  # the model that the stream in memory is of
    stream: Stream | None = None  # None: to be read from its folder
    written: int = 0

    def feed(
        self, model: CAPS, fit: Path, lateness: int, rows: Callable[[Stream], Update]
    ) -> Taken:
        """Take in rows and write the state."""
        with self.lock:
            stream, note = self._open(model, fit, lateness)
            self.stream = None  # until it is written
            update = rows(stream)
            if not fit.is_dir():
                raise missing("model", self.folder.parents[1].name)
            self.written += 1
            extra = {"fit": fit.name, **_kind(stream)}
            save_streams(self.folder / str(self.written), {ID: stream}, extra)
            self.stream, self.fit = stream, fit
            for path in _states(self.folder)[:-1]:
                shutil.rmtree(path, ignore_errors=True)
            return _taken(update, stream, note)

    def end(self, model: CAPS, fit: Path) -> Taken:
        """Score what waits, close an open event, and forget the stream."""
        with self.lock:
            if not _states(self.folder):
                raise missing("stream", self.folder.name)
            stream, note = self._open(model, fit, 0)
            self.stream = None
            update = stream.finish()
            put_away(self.folder)
            self.written = 0
            return _taken(update, stream, note)

    def _open(self, model: CAPS, fit: Path, lateness: int) -> tuple[Stream, str]:
        if self.stream is not None and self.fit == fit:
            stream, note = self.stream, ""
        else:
            stream, note = self._continued(model, fit, lateness)
        stream.tracker.threshold = model.threshold_  # follows the alarm budget
        return stream, note

    def _continued(self, model: CAPS, fit: Path, lateness: int) -> tuple[Stream, str]:
        """The stream as it was written last, or a new one."""
        states = _states(self.folder)
        self.written = int(states[-1].name) if states else 0
        for path in reversed(states):
            stream = model.stream(lateness=lateness)
            try:
                saved = SavedStreams(path)
                if saved.extra.get("fit", fit.name) == fit.name:
                    saved.restore(ID, stream)
                    return stream, ""
            except ArtifactError:  # cut off while it was written: the one before it is whole
                continue
            if _carried(saved, stream):
                return stream, REFITTED
        if not states:
            self._check_room()
        return model.stream(lateness=lateness), ANEW if states else ""

    def _check_room(self) -> None:
        others = self.folder.parent
        if others.is_dir() and len(list(others.iterdir())) >= MOST_STREAMS:
            raise taken(f"the model has {MOST_STREAMS} streams already", "end some of them")


def stream_folder(model: Path, name: str) -> Path:
    """Where a stream of the model in that folder is kept."""
    if not re.fullmatch(NAME, name):
        raise missing("stream", name)
    return model / STREAMS / name


def _taken(update: Update, stream: Stream, note: str) -> Taken:
    return Taken(update, stream.tracker.threshold, stream.counts.to_dict(), note)


def _carried(saved: SavedStreams, stream: Stream) -> bool:
    """Whether a stream of another fit goes on with this one: rows, times and an open event.

    Only what drift is judged by belongs to a fit, and begins anew.
    """
    if any(saved.extra.get(name) != value for name, value in _kind(stream).items()):
        return False
    try:
        number, facts = saved.described[ID]
        arrays = {part: saved.arrays[f"{number}.{part}"] for part in ("past", "held")}
        stream.restore({**facts["state"], "drift": stream.drift.facts()}, arrays)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return True


def _kind(stream: Stream) -> dict[str, Any]:
    """What two fits must have in common for a stream to go on: channels and step."""
    return {"channels": list(stream.fitted.names), "step": stream.arrivals.step}


def _states(folder: Path) -> list[Path]:
    """States written, the newest last."""
    if not folder.is_dir():
        return []
    return sorted(
        (path for path in folder.iterdir() if path.name.isdecimal()),
        key=lambda path: int(path.name),
    )
