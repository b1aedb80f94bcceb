"""The state of a watch on disk: two folders by turns, so that a kill always leaves a whole one.

A state holds what is to be told next. What was told since is noted in a journal beside it, line by
line, so that after a kill nothing is lost and nothing is told again.
"""

import fcntl
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caps.errors import ArtifactError, InputError
from caps.replacing import check_file, check_room
from caps.stream import SavedStreams, Stream, save_streams

SLOTS = ("even", "odd")
JOURNAL = "told"
LARGEST = 2**20  # bytes of the journal


class WatchState:
    """Saves and finds the newest state in a folder."""

    def __init__(self, folder: Path) -> None:
        check_room(folder)
        check_file(folder / JOURNAL)
        self.folder = folder
        self.turn = 0
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_APPEND | os.O_RDWR
        self.journal = os.open(folder / JOURNAL, flags, 0o644)
        try:
            # Held by the open file, so that it goes with the process, however that ends.
            fcntl.flock(self.journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.journal)
            raise InputError(
                f"another watch is using the state in {folder}",
                "end it first, or name another folder with --state",
            ) from None

    def release(self) -> None:
        """Let another watch go on from here; what is still told is noted all the same."""
        fcntl.flock(self.journal, fcntl.LOCK_UN)

    def note(self, how: str, name: str) -> None:
        """Note that something was told; from any thread."""
        os.write(self.journal, self.entry(how, name) + b"\n")

    def entries(self) -> frozenset[bytes]:
        """What the journal notes as told."""
        return frozenset((self.folder / JOURNAL).read_bytes().splitlines())

    @staticmethod
    def entry(how: str, name: str) -> bytes:
        """How the journal notes it."""
        return f"{how} {json.dumps(name)}".encode()  # on one line, whatever the name

    @property
    def noted(self) -> int:
        """How long the journal is."""
        return os.fstat(self.journal).st_size

    def shorten(self, noted: int) -> None:
        """Forget a long journal; the last state saved must hold nothing that is yet to be told.

        `noted` is how long it was before that was saved: what came since is not forgotten.
        """
        if LARGEST < noted == self.noted:
            os.ftruncate(self.journal, 0)

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
        for problem in problems:
            print(f"{problem.problem}: going on from the state before it", file=sys.stderr)
        self.turn, newest = max(found, key=lambda each: each[0])
        return newest
