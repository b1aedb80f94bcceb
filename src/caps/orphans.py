"""A process that is killed cannot end its workers: they watch for it and end themselves."""

import os
import signal
import threading
import time

BETWEEN = 0.5  # seconds between looks


def end_with(parent: int) -> None:
    """Call in a worker: it ends, and what it started in a group of its own, when `parent` does."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(BETWEEN)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
