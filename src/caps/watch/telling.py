"""The lines of a watch: what each says of an event, an incident, drift."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from caps.events import Event
from caps.fitted_model import FittedModel
from caps.scoring import carrying
from caps.series import duration
from caps.stream import EventChange, Stream
from caps.watch.incidents import Incident, shown

Line = dict[str, Any]

EVENT = (
    "start", "end", "start_row", "end_row", "peak_row", "score", "p_value", "severity",
    "contributions", "silenced", "silenced_by",
)  # fmt: skip
ADVICE = "the scores no longer look like those of calibration: fit again on recent rows"


def said_of(model: FittedModel, stream: Stream, change: EventChange) -> Line:
    """What explains an event: direction, size, kind, channels and a sentence."""
    found = model.explain_live(stream, change)
    event: Event = change if found is None else found
    gone = "An anomaly; the rows that explain it are gone already."
    if change.silence is not None:
        gone += f" {change.silence}"
    return {
        "direction": event.direction,
        "size": event.size,
        "kind": event.kind,
        "channels": carrying(change.contributions),
        "reason": event.reason or gone,
    }


def event_id(series: str, change: EventChange, what: str) -> str:
    """The id of a line of an event; one that is silenced and then an alarm has lines of both."""
    began = change.to_dict(shown)["start"] or change.start
    return f"{series}:{began}:{what}" + ("" if change.alarm else " silenced")


def event_line(
    origin: Line, change: EventChange, incident: int | None, alert: bool, said: Line
) -> Line:
    """An event that was opened, extended or closed; of no incident if it is silenced."""
    facts, name = change.to_dict(shown), origin["series"]
    what = f"updated {change.end}" if change.what == "updated" else change.what
    began = facts["start"] or change.start
    return {
        "what": change.what,
        **origin,
        "event": change.number,
        "incident": incident,
        "alert": alert,
        "id": event_id(name, change, what),
        **({"ended_by": [f"{name}:{began}:recovered"]} if alert else {}),
        **{key: facts[key] for key in EVENT},
        **said,
    }


def risen_line(origin: Line, change: EventChange, incident: Incident, was: str, said: Line) -> Line:
    """An incident that is worse than it was."""
    began = incident.start_time or incident.start
    facts = change.to_dict(shown)
    return {
        "what": "risen",
        **origin,
        "incident": incident.number,
        "was": was,
        "id": f"{origin['series']}:{began}:risen {facts['severity']}",
        "ended_by": [f"{origin['series']}:{began}:recovered"],
        **{key: facts[key] for key in EVENT},
        "start": incident.start_time,
        "start_row": incident.start,
        **said,
    }


def recovered_line(origin: Line, incident: Incident, row: int, step: np.timedelta64 | None) -> Line:
    """An incident that is over once `row` is reached."""
    rows = row - incident.end
    return {
        "what": "recovered",
        **origin,
        "incident": incident.number,
        "events": incident.events,
        "id": f"{origin['series']}:{incident.start_time or incident.start}:recovered",
        "start": incident.start_time,
        "end": incident.end_time,
        "start_row": incident.start,
        "end_row": incident.end,
        "score": incident.score,
        "quiet_rows": rows,
        "quiet": None if step is None else duration(rows * step),
        "step_seconds": None if step is None else float(step / np.timedelta64(1, "s")),
        "severity": incident.severity,
        **incident.said,
    }


def drift_line(origin: Line, row: int, times: np.ndarray | None) -> Line:
    """A refit is recommended."""
    when = None if times is None else shown(times[-1])
    return {
        "what": "drift",
        **origin,
        "id": f"{origin['series']}:drift:{when}",
        "row": row,
        "time": when,
        "start": when,
        "advice": ADVICE,
        "severity": "low",
        "direction": None,
        "size": None,
        "kind": "drift",
        "channels": [],
        "reason": ADVICE[0].upper() + ADVICE[1:] + ".",
    }


def origin_of(series: str, source: str, labels: Mapping[str, str]) -> Line:
    """Which series a line is of."""
    return {"series": series, "source": source, "labels": dict(labels)}
