"""The state of a watch on disk: two folders by turns, so that a kill always leaves a whole one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caps.detect.stream import Stream
from caps.detect.stream_storage import SavedStreams, save_streams
from caps.errors import ArtifactError, InputError

SLOTS = ("even", "odd")


class WatchState:
    """Saves and finds the newest state in a folder."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file", "name a folder with --state")
        self.folder = folder
        self.turn = 0

    def save(self, streams: Mapping[str, Stream], facts: Mapping[str, Any]) -> None:
        """Write the next state beside the last one."""
        self.turn += 1
        save_streams(self.folder / SLOTS[self.turn % 2], streams, {**facts, "turn": self.turn})

    def load(self) -> SavedStreams | None:
        """The newest whole state; None if there is none yet."""
        found, problems = [], []
        for slot in SLOTS:
            if not (self.folder / slot).exists():
                continue
            try:
                saved = SavedStreams(self.folder / slot)
                found.append((int(saved.extra["turn"]), saved))
            except ArtifactError as error:
                problems.append(error)
            except (KeyError, TypeError, ValueError):
                problems.append(
                    ArtifactError(f"{self.folder / slot} is no state of a watch", "remove it")
                )
        if not found:
            if problems:
                raise problems[0]
            return None
        self.turn, newest = max(found, key=lambda each: each[0])
        return newest
