"""Events that are no alarms are told apart in the report."""

import numpy as np

from caps.events import Silence
from caps.report import Channel, EventCard, Report, render_report


def report(*silences: Silence | None) -> str:
    values = np.linspace(0.0, 1.0, 100)
    events = tuple(
        EventCard(k + 1, start=10 * k, end=10 * k + 3, peak=10 * k, score=0.9, silence=silence)
        for k, silence in enumerate(silences)
    )
    return render_report(Report("pump", (Channel("flow", values),), values, 0.5, events))


def test_silenced_events_say_what_keeps_them_from_being_alarms() -> None:
    page = report(None, Silence("planned", "release 4.2"), Silence("feedback", "f1", "backup"))
    assert "1 planned and 1 like others that were dismissed: no alarms." in page
    for cell in ("yes", "no: planned, release 4.2", "no: feedback f1"):
        assert f'<td data-label="Alarm">{cell}</td>' in page
    assert '"name":"silenced"' in page.replace(" ", "")


def test_a_report_without_any_has_no_column_for_it() -> None:
    page = report(None, None)
    assert 'data-label="Alarm"' not in page
    assert "no alarms." not in page
