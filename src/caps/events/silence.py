"""Why an event is scored and yet no alarm."""

from dataclasses import dataclass
from typing import Literal

Why = Literal["feedback", "planned"]


@dataclass(frozen=True, slots=True)
class Silence:
    """What keeps an event from being an alarm: feedback on one like it, or a planned event.

    >>> print(Silence("planned", "nightly backup"))
    No alarm: it lies within the planned event "nightly backup".
    """

    why: Why
    name: str  # of the planned event, or the id of the feedback
    note: str = ""

    def __str__(self) -> str:
        if self.why == "planned":
            return f'No alarm: it lies within the planned event "{self.name}".'
        note = f': "{self.note}"' if self.note else ""
        return f"No alarm: it is like the event dismissed by feedback {self.name}{note}."
