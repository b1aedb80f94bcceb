"""From scores to events: their extent, their explanation and their kind."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.events.analysis import (
        Analysis as Analysis,
        ChannelView as ChannelView,
        Explanation as Explanation,
        KindOf as KindOf,
    )
    from caps.events.changes import AlarmChange as AlarmChange, changed_alarms as changed_alarms
    from caps.events.config import EventConfig as EventConfig, LikenessConfig as LikenessConfig
    from caps.events.events import (
        SEVERITIES as SEVERITIES,
        Event as Event,
        Silence as Silence,
        find_events as find_events,
    )
    from caps.events.feedback import (
        Feedback as Feedback,
        FeedbackBook as FeedbackBook,
        Verdict as Verdict,
    )
    from caps.events.kinds import event_kind as event_kind
    from caps.events.match import Nearest as Nearest
    from caps.events.silencer import Course as Course, Silencer as Silencer
    from caps.events.tables import event_table as event_table, score_table as score_table

__getattr__ = on_first_use(__name__)
