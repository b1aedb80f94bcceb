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
LONGEST = 2**20  # bytes of one line


class Lines:
    """Hands out whole lines; `place` says where to go on after the last of them.

    Without `follow` the end of the file is the end. Standard input (`path` None) ends when the
    other side closes it.
    """

    def __init__(self, path: Path | None, *, follow: bool = False) -> None:
        # A named pipe is read like standard input: it has no places to go back to.
        self.path = None if path is not None and path.is_fifo() else path
        self.follow = follow
        self.offset = 0  # of the end of the last line handed out
        self.rest = b""
        self.ended = False
        self.descriptor = sys.stdin.fileno() if path is None else self._open(path)

    def _open(self, path: Path) -> int:
        if not path.exists() or path.is_dir():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise InputError(f"{path} {what}", "name a CSV or NDJSON file, or - for input")
        return os.open(path, os.O_RDONLY)

    def read(self, patience: float) -> list[bytes]:
        """The next lines; none if nothing came within `patience` seconds."""
        if self.path is None:
            if not select.select([self.descriptor], [], [], patience)[0]:
                return []
            data = os.read(self.descriptor, BLOCK)
        else:
            data = os.read(self.descriptor, BLOCK)
            if not data and self.follow:
                if not self._replaced():
                    time.sleep(patience)
                return []
        if not data:
            self.ended = True
            return self._hand_out([self.rest]) if self.rest else []
        *lines, self.rest = (self.rest + data).split(b"\n")
        if len(self.rest) > LONGEST:
            raise InputError(
                f"a line of more than {LONGEST} bytes", "give one row a line, as CSV or NDJSON"
            )
        return self._hand_out(lines, ends=1)

    def _hand_out(self, lines: list[bytes], ends: int = 0) -> list[bytes]:
        self.offset += sum(len(line) + ends for line in lines)
        return lines

    def place(self) -> dict[str, Any]:
        """Where to go on, as JSON values; nothing to go on from in standard input."""
        if self.path is None:
            return {}
        return {"offset": self.offset, "head": self._head(min(self.offset, HEAD))}

    def go_on(self, place: Mapping[str, Any]) -> bool:
        """Go on from a place; False if the file is not the one it was, and is read from the start.

        Standard input is read as it comes: rows that come again are refused as repeated.
        """
        if self.path is None or not place:
            return True
        offset = int(place["offset"])
        same = os.fstat(self.descriptor).st_size >= offset
        if not same or self._head(min(offset, HEAD)) != place["head"]:
            return False
        os.lseek(self.descriptor, offset, os.SEEK_SET)
        self.offset = offset
        return True

    def _head(self, size: int) -> str:
        return hashlib.sha256(os.pread(self.descriptor, size, 0)).hexdigest()

    def _replaced(self) -> bool:
        """Start again where the file was cut, or another one took its name."""
        assert self.path is not None
        try:
            named = self.path.stat()
        except FileNotFoundError:  # between two files
            return False
        own = os.fstat(self.descriptor)
        if named.st_ino == own.st_ino and own.st_size >= self.offset + len(self.rest):
            return False
        os.close(self.descriptor)
        self.descriptor = self._open(self.path)
        self.offset, self.rest = 0, b""
        return True
