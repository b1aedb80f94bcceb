"""What measurements ran on, and what processes used."""

import os
import platform
import resource
import socket
from pathlib import Path

import numpy as np


def machine() -> str:
    """What the measurements ran on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].split(":")[1].strip() if names else model
    return (
        f"{model}, {os.cpu_count()} cores; "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def processor_seconds(*, own: bool = False) -> float:
    """Processor time of child processes that have ended; with `own` also that of this process."""
    which = [resource.RUSAGE_CHILDREN, *([resource.RUSAGE_SELF] if own else [])]
    return sum(sum(resource.getrusage(each)[:2]) for each in which)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def size_of(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
