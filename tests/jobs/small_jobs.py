"""Work for processes: some of it goes wrong."""

import os
import signal
import sys
import time

from caps.jobs import printed, report


def deadly(task: str) -> str:
    """Kills the process that works on "deadly"; all others are fine."""
    if task == "deadly":
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{task} done"


def odd(task: str) -> object:
    """Raises, leaves, prints, or returns what no pipe can carry."""
    if task == "raises":
        raise ZeroDivisionError("no luck today")
    if task == "exits":
        sys.exit("done with you")
    if task == "odd result":
        return lambda: None
    print(task)
    return printed()


def hanging(task: str) -> None:
    """Never ends."""
    time.sleep(3600)


def telling(task: str) -> str:
    """Reports two stages."""
    report("reading", 0.0)
    for step in range(1000):
        report("counting", step / 1000)
    return task


def environment_of(names: list[str]) -> dict[str, str | None]:
    """What is set where it runs."""
    return {name: os.environ.get(name) for name in names}


def waiting(fifo: str) -> None:
    """Says which process it is and then does nothing for an hour."""
    with open(fifo, "w") as stream:
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        time.sleep(3600)
