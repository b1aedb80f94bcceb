"""A process that is killed cannot end its workers: they watch for it and end themselves."""

import os
import signal
import threading
from multiprocessing import parent_process


def end_with_parent() -> None:
    """Have this worker end when its parent does, and with it what it started in its own group."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = parent_process()
    assert parent is not None, "not started by multiprocessing"
    parent.join()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
