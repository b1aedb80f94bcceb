"""How long tests wait for other processes and threads: no test counts on an idle machine."""

import time
from collections.abc import Callable

PATIENCE = 600.0  # seconds; a wait ends with what it waits for, so that a long one costs nothing


def wait_until(happened: Callable[[], object], what: str, *, every: float = 0.01) -> None:
    """Look again and again until it has happened."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, f"{what}: not in {PATIENCE:g} s"
        time.sleep(every)
