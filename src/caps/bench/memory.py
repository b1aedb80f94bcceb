"""Peak memory of one piece of work in a process that does many."""

import resource
import sys
from pathlib import Path

_MEGABYTE = 1024.0 if sys.platform != "darwin" else 1024.0**2  # Linux counts in kB, macOS in bytes
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class PeakMemory:
    """Counts from its making on, where the system can (Linux); else since the process began."""

    def __init__(self) -> None:
        self._children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        try:
            _CLEAR.write_text("5")  # resets the high-water mark
            self._since_start = False
        except OSError:
            self._since_start = True

    def peak(self) -> float:
        """Megabytes of this process, or of a program it ran if that took more."""
        own = _own_peak() if not self._since_start else None
        if own is None:
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        programs = children / _MEGABYTE if children > self._children else 0.0
        return round(max(own, programs), 1)


def _own_peak() -> float | None:
    for line in _STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024.0
    return None
