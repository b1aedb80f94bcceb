"""Whole lines of a file that may grow, be cut or be replaced, or of standard input."""

import hashlib
import os
import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caps.errors import InputError

BLOCK = 2**16  # bytes at once
HEAD = 256  # bytes at the start that tell whether a file is still the same
LONGEST = 2**20  # bytes of one line; of a longer one only the first are handed out


class Lines:
    """Hands out whole lines; `position` says where to go on after the last of them.

    Without `follow` the end of the file is the end. Standard input (`path` None) ends when the
    other side closes it.
    """

    def __init__(self, path: Path | None, *, follow: bool = False) -> None:
        # A named pipe is read like standard input: it has no position to go back to.
        self.path = None if path is not None and path.is_fifo() else path
        self.follow = follow
        self.offset = 0  # of the end of the last line handed out
        self.rest = b""
        self.cut = 0  # bytes left out of `rest`
        self.restarts = 0  # times that the file was replaced, and is read from its start
        self.ended = False
        if path is not None and (path.is_dir() or not path.exists()):
            what = "is a folder" if path.is_dir() else "does not exist"
            raise InputError(f"{path} {what}", "name a CSV or NDJSON file, or - for input")
        self.descriptor = sys.stdin.fileno() if path is None else os.open(path, os.O_RDONLY)

    def read(self, patience: float) -> list[bytes]:
        """The next lines; none if nothing came within `patience` seconds."""
        if self.path is None and not select.select([self.descriptor], [], [], patience)[0]:
            return []
        data = os.read(self.descriptor, BLOCK)
        if not data and self.path is not None and self.follow:
            return self._at_the_end(patience)
        if not data:
            self.ended = True
            return self._last_line()
        *lines, self.rest = (self.rest + data).split(b"\n")
        if lines:
            self.offset += sum(len(line) + 1 for line in lines) + self.cut
            self.cut = 0
        self.cut += max(0, len(self.rest) - LONGEST - 1)
        self.rest = self.rest[: LONGEST + 1]
        return lines

    def _last_line(self) -> list[bytes]:
        """The line that nobody ended."""
        lines = [self.rest] if self.rest else []
        self.offset += len(self.rest) + self.cut
        self.rest, self.cut = b"", 0
        return lines

    def _at_the_end(self, patience: float) -> list[bytes]:
        """Wait for more, or turn to the file that took the place of this one."""
        replaced = self._replacement()
        if replaced is None:
            time.sleep(patience)
            return []
        lines = [] if replaced == self.descriptor else self._last_line()
        if replaced == self.descriptor:
            os.lseek(replaced, 0, os.SEEK_SET)
        else:
            os.close(self.descriptor)
        self.descriptor = replaced
        self.offset, self.rest, self.cut = 0, b"", 0
        self.restarts += 1
        return lines

    def position(self) -> dict[str, Any]:
        """Where to go on, as JSON values; nothing to go on from in standard input."""
        if self.path is None:
            return {}
        return {"offset": self.offset, "head": self._head(min(self.offset, HEAD))}

    def go_on(self, position: Mapping[str, Any]) -> bool:
        """Go on from a position; False if the file is another one, and is read from the start.

        Standard input is read as it comes: rows that come again are refused as repeated.
        """
        if self.path is None or not position:
            return True
        offset = int(position["offset"])
        same = os.fstat(self.descriptor).st_size >= offset
        if not same or self._head(min(offset, HEAD)) != position["head"]:
            return False
        os.lseek(self.descriptor, offset, os.SEEK_SET)
        self.offset = offset
        return True

    def _head(self, size: int) -> str:
        return hashlib.sha256(os.pread(self.descriptor, size, 0)).hexdigest()

    def _replacement(self) -> int | None:
        """The descriptor of a file that took the name of this one, or of this one if it was cut."""
        assert self.path is not None
        own = os.fstat(self.descriptor)
        read = self.offset + len(self.rest) + self.cut
        try:
            named = self.path.stat()
            if os.path.samestat(named, own):
                return self.descriptor if own.st_size < read else None
            if own.st_size > read:  # its last lines came while nobody looked
                return None
            return os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:  # between two files
            return None
