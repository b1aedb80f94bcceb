"""How long tests wait for other processes and threads: no test counts on an idle machine."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 600.0  # seconds; a wait ends with what it waits for, so that a long one costs nothing


def wait_until(happened: Callable[[], object], what: str, *, every: float = 0.01) -> None:
    """Look again and again until it has happened."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, f"{what}: not in {PATIENCE:g} s"
        time.sleep(every)


def until(page: "Page", condition: Callable[[], bool]) -> None:
    """Wait: our pages' policy forbids the eval behind playwright's wait_for_function."""
    for _ in range(int(PATIENCE * 10)):
        if condition():
            return
        page.wait_for_timeout(100)
    raise AssertionError("the page did not get there")
