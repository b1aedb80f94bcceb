"""What an alert says: the lines of a watch that are sent, to whom, and in which shape.

Every line that begins or ends something has the same facts, whatever it is sent to: `what`, `id`,
`series`, `labels`, `start`, `end`, `severity`, `direction`, `size`, `kind`, `channels`, `reason`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from html import escape
from typing import Any, Literal

from caps.events import SEVERITIES

Alert = Mapping[str, Any]
Choice = Callable[[Alert], bool]

NAMES = {  # in Alertmanager, of what begins and what ends
    **dict.fromkeys(("opened", "risen", "recovered"), "CAPSAnomaly"),
    **dict.fromkeys(("no_data", "data_again", "forgotten"), "CAPSNoData"),
    **dict.fromkeys(("source_down", "source_up"), "CAPSSourceDown"),
    "drift": "CAPSDrift",
}
ENDS = {"recovered", "data_again", "forgotten", "source_up"}
TITLES = {
    "opened": "anomaly",
    "risen": "anomaly, worse than it began",
    "recovered": "recovered",
    "no_data": "no data",
    "data_again": "data again",
    "forgotten": "no data any more: forgotten",
    "source_down": "source down",
    "source_up": "source up again",
    "drift": "drift",
}
RANKS: dict[str, int] = {name: rank for rank, name in enumerate([*SEVERITIES][::-1])}
Severity = Literal["low", "medium", "high"]


def is_alert(line: Alert) -> bool:
    """Whether a line is for sinks at all; lines of single events are not, but for the first."""
    return line["what"] in NAMES and (line["what"] != "opened" or bool(line.get("alert")))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Alerts of some series from a severity on; an incident is told once, when it reaches it."""

    least: Severity = "low"
    match: str = "*"

    def __call__(self, line: Alert) -> bool:
        """Whether the alert is wanted."""
        if not fnmatchcase(str(line["series"]), self.match):
            return False
        enough = RANKS[line.get("severity") or "high"] >= RANKS[self.least]
        if line["what"] == "risen":
            return enough and RANKS[line["was"]] < RANKS[self.least]
        return enough


def slack(line: Alert) -> dict[str, str]:
    """The body of Slack's incoming webhooks.

    >>> slack({"what": "no_data", "series": "load", "severity": "high", "reason": "It stopped."})
    {'text': '*high: no data* in `load`\\nIt stopped.'}
    """
    head = TITLES[line["what"]]
    if line["what"] not in ENDS and line.get("severity"):
        head = f"{line['severity']}: {head}"
    where = line["series"] or line.get("source") or "the series"
    facts = [f"*{head}* in `{where}`", *filter(None, [line.get("reason"), _span(line)])]
    return {"text": "\n".join(escape(each, quote=False) for each in facts)}


def _span(line: Alert) -> str:
    start, end = line.get("start"), line.get("end")
    if not start:
        return ""
    return f"{start} to {end}" if line["what"] in ENDS and end else f"since {start}"


def alertmanager_labels(line: Alert) -> dict[str, str]:
    """What an alert is known by: the same for its beginning, its repetitions and its end."""
    start = line.get("start") or line.get("start_row")
    own = {
        "alertname": NAMES[line["what"]],
        # That of the beginning: what an alert is known by must not change.
        "severity": line.get("began") or line.get("severity") or "high",
        "series": str(line["series"]),
        "source": str(line.get("source") or ""),
        "incident": "" if start is None else str(start),
    }
    given = {name: text for name, text in line.get("labels", {}).items() if name not in own}
    return {**given, **{name: text for name, text in own.items() if text}}


def annotations(line: Alert) -> dict[str, str]:
    """What is said of an alert, by its newest line."""
    where = line["series"] or line.get("source") or "the series"
    facts: dict[str, Any] = {
        "summary": f"{TITLES[line['what']]} in {where}",
        "description": line.get("reason"),
        "severity": line.get("severity"),
        "direction": line.get("direction"),
        "size": None if line.get("size") is None else f"{line['size']:.3g}",
        "kind": line.get("kind"),
        "channels": ", ".join(line.get("channels") or ()),
        "score": None if line.get("score") is None else f"{line['score']:.4g}",
    }
    return {name: str(text) for name, text in facts.items() if text}


def moment(text: str | None) -> datetime | None:
    """The time in a line."""
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def rfc3339(when: datetime) -> str:
    """As Alertmanager wants it."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def end_of(line: Alert) -> datetime | None:
    """When that which a line ends was over: after its last row."""
    end = moment(line.get("end"))
    step = timedelta(seconds=float(line.get("step_seconds") or 0.0))
    return None if end is None else end + step
