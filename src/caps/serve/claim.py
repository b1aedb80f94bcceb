"""One service to a directory: whoever holds the lock may clean up and write there."""

import contextlib
import os
from pathlib import Path

from caps.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


class Claim:
    """The lock on a directory; the system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: int | None = None

    def take(self) -> None:
        """Take the lock, or refuse and leave everything as it is."""
        if self.file is not None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be used ({error.strerror})", "name a folder of your own"
            ) from None
        try:
            _lock(file)
        except OSError:
            holder = os.read(file, 20).decode("ascii", "replace").strip()
            os.close(file)
            raise InputError(
                f"another service uses {self.folder}" + (f" (process {holder})" if holder else ""),
                "stop it, or name another folder",
            ) from None
        self.file = file
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the number
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let another service have the directory."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


def _lock(file: int) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
