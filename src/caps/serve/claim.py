"""One service to a directory: whoever holds the lock may clean up and write there."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from caps.errors import InputError

LOCK = ".lock"


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the lock on a directory, or refuse and leave everything as it is.

    The system lets go of it when the process ends, however it ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("ab+", buffering=0)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be used ({error.strerror})", "name a folder of your own"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read(20).decode("ascii", "replace").strip()
            raise InputError(
                f"another service uses {folder}" + (f" (process {holder})" if holder else ""),
                "stop it, or name another folder",
            ) from None
        with suppress(OSError):  # a full disk: the lock holds without the number
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n".encode())
        yield
