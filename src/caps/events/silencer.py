"""Which events are no alarms: those like a dismissed one, and those that were planned."""

from dataclasses import dataclass, field
from functools import cached_property

from caps.arrays import FloatArray
from caps.events.config import LikenessConfig
from caps.events.events import Event, Silence
from caps.events.feedback import Feedback, FeedbackBook
from caps.events.likeness import Answer, Likeness, Pasts
from caps.jobs import single_products
from caps.neighbours import TrainingOverlap
from caps.planned import Planned
from caps.scoring import NEW, Fitted, carrying


@dataclass(slots=True)
class Course:
    """An event so far: which judged ones it is still like."""

    start: int
    alike: dict[str, bool]  # ids of feedback, the newest first; whether a row was like what was odd
    tested: int  # rows before this one were compared


@dataclass(frozen=True, eq=False)
class Silencer:
    """Tells of each event whether it is an alarm, row by row or at once."""

    fitted: Fitted
    book: FeedbackBook = field(default_factory=FeedbackBook)
    planned: Planned = field(default_factory=Planned)
    series: str = ""  # whose planned events count
    config: LikenessConfig = field(default_factory=LikenessConfig)

    @cached_property
    def _known(self) -> dict[str, tuple[Feedback, Likeness]]:
        """What counts, the newest first."""
        pasts, newest = Pasts(self.fitted, self.config), reversed(self.book.active)
        with single_products():  # as when a whole series is scored
            return {each.id: (each, Likeness(pasts, each.example)) for each in newest}

    def begin(self, start: int) -> Course:
        """An event that begins at a row."""
        return Course(start, dict.fromkeys(self._known, False), start)

    def advance(
        self,
        course: Course,
        event: Event,
        scaled: FloatArray,
        first: int = 0,
        overlap: TrainingOverlap = NEW,
    ) -> None:
        """Take in the rows of an event up to its end; `scaled` begins at row `first`."""
        if course.tested >= event.end:
            return
        rows = course.start - first, course.tested - first, event.end - first
        channels = carrying(event.contributions)
        for id, met in list(course.alike.items()):
            answer: Answer = "unlike"  # also of what was revoked since
            if id in self._known:
                with single_products():
                    answer = self._known[id][1].alike(scaled, *rows, channels, overlap)
            if answer == "unlike":
                del course.alike[id]
            else:
                course.alike[id] = met or answer == "alike"
        course.tested = event.end

    def silence(self, course: Course, event: Event, *, ended: bool) -> Silence | None:
        """Why an event is no alarm so far; None for an alarm."""
        planned = self.planned.covering(event.start_time, event.end_time, self.series)
        if planned is not None:
            return Silence("planned", planned)
        judged = self._newest(course, event, ended)
        if judged is None or judged.verdict == "incident":
            return None
        return Silence("feedback", judged.id, judged.note)

    def judged(
        self, event: Event, scaled: FloatArray, overlap: TrainingOverlap = NEW
    ) -> tuple[Silence | None, Feedback | None]:
        """Why an event is no alarm, and the newest feedback on one like it."""
        course = self.begin(event.start)
        self.advance(course, event, scaled, overlap=overlap)
        ended = event.end < len(scaled)  # or goes on after the last row
        return self.silence(course, event, ended=ended), self._newest(course, event, ended)

    def _newest(self, course: Course, event: Event, ended: bool) -> Feedback | None:
        met = (self._known[id] for id, met in course.alike.items() if met and id in self._known)
        found = (said for said, like in met if not ended or len(event) >= like.least_rows)
        return next(found, None)
