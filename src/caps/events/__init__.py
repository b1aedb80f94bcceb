"""From scores to events: their extent, their explanation and their kind."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.events.analysis import Analysis, ChannelView, Explanation, KindOf
    from caps.events.changes import AlarmChange, changed_alarms
    from caps.events.config import EventConfig, LikenessConfig
    from caps.events.events import SEVERITIES, Event, find_events
    from caps.events.feedback import Feedback, FeedbackBook, Verdict
    from caps.events.kinds import event_kind
    from caps.events.match import Nearest
    from caps.events.silence import Silence
    from caps.events.silencer import Course, Silencer
    from caps.events.tables import event_table, score_table

__all__ = [
    "SEVERITIES",
    "AlarmChange",
    "Analysis",
    "ChannelView",
    "Course",
    "Event",
    "EventConfig",
    "Explanation",
    "Feedback",
    "FeedbackBook",
    "KindOf",
    "LikenessConfig",
    "Nearest",
    "Silence",
    "Silencer",
    "Verdict",
    "changed_alarms",
    "event_kind",
    "event_table",
    "find_events",
    "score_table",
]

__getattr__ = on_first_use(__name__)
