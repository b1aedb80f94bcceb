"""From tasks to outcomes: keep every slot busy, try again what failed, at most so many times."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from caps.errors import InputError
from caps.fleet.engines import Engine, Lost
from caps.fleet.jobs import Outcome, Task

# Called after every series that ended, with its outcome and how often it was tried.
Ending = Callable[[Outcome, int], None]


def run(tasks: Iterable[Task], engine: Engine, *, retries: int, ended: Ending) -> None:
    """Work on all tasks; each is tried once and, unless its input is bad, `retries` times more."""
    if retries < 0:
        raise InputError(f"{retries} retries", "give 0 or more")
    queue = _Queue(deque(tasks), retries, ended)
    while queue.waiting or queue.suspects or queue.running:
        while task := queue.next(engine.slots):
            engine.submit(task)
        gone = []
        for task, outcome in engine.collect():
            queue.running -= 1
            if isinstance(outcome, Lost):
                gone.append((task, outcome.reason))
            else:
                queue.settle(task, outcome)
        if engine.shares_fate and len(gone) > 1:
            queue.suspects.extend(task for task, _ in gone)
            continue
        for task, reason in gone:
            queue.settle(task, Outcome(task.entry.id, "failed", reason=reason))


@dataclass
class _Queue:
    """What is still to be done."""

    waiting: deque[Task]
    retries: int
    ended: Ending
    running: int = 0
    # Were lost together with others: tried one at a time, so that the one to blame is found.
    suspects: deque[Task] = field(default_factory=deque)
    attempts: dict[str, int] = field(default_factory=dict)

    def next(self, slots: int) -> Task | None:
        """The task to submit now; None to wait."""
        if self.suspects:
            task = None if self.running else self.suspects.popleft()
        else:
            # One more than slots: nobody waits while the next task travels.
            task = self.waiting.popleft() if self.waiting and self.running <= slots else None
        self.running += task is not None
        return task

    def settle(self, task: Task, outcome: Outcome) -> None:
        """Take the outcome, or put the task at the end of the line once more."""
        id = task.entry.id
        tried = self.attempts[id] = self.attempts.get(id, 0) + 1
        if outcome.status == "failed" and tried <= self.retries:
            self.waiting.append(task)
        else:
            self.ended(outcome, tried)
