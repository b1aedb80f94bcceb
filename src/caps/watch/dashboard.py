"""A dashboard for Grafana over what a watch serves: rows of panels, and how each is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

Facts = dict[str, Any]

PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
CHOSEN = '{series=~"$series"}'
BLUE = {"id": "color", "value": {"mode": "fixed", "fixedColor": "blue"}}
DASHED = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [6, 6]}}
THIN = {"id": "custom.lineWidth", "value": 1}
STATES = [("normal", "transparent"), ("incident", "red"), ("silenced", "gray"), ("incident", "red")]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its queries by their legends, and what is special about its fields."""

    kind: str
    title: str
    queries: Mapping[str, str]
    description: str = ""
    fields: Facts = field(default_factory=dict)
    lines: Mapping[str, Sequence[Facts]] = field(default_factory=dict)  # looks by the first word


STATS = (
    Panel("stat", "Open incidents", {"": "sum(caps_watch_incident_open)"}),
    Panel("stat", "Series watched", {"": "sum(caps_watch_series)"}),
    Panel("stat", "Series without data", {"": "sum(caps_watch_no_data)"}),
    Panel("stat", "Sources up", {"": "min(caps_watch_source_up)"}),
    Panel("stat", "Lag", {"": "max(caps_watch_lag_seconds)"}, fields={"unit": "s"}),
    Panel(
        "stat",
        "Share of a core",
        {"": "sum(rate(caps_watch_busy_seconds_total[5m]))"},
        fields={"unit": "percentunit"},
    ),
)
VALUES = Panel(
    "timeseries",
    "Value and the range that counts as normal",
    {
        "{{series}} {{channel}}": f"caps_watch_value{CHOSEN}",
        "expected {{series}} {{channel}}": f"caps_watch_expected{CHOSEN}",
        "lower {{series}} {{channel}}": f"caps_watch_lower{CHOSEN}",
        "upper {{series}} {{channel}}": f"caps_watch_upper{CHOSEN}",
    },
    description="The range holds 99 of 100 normal rows; alarms come from the score.",
    lines={"expected": [DASHED, BLUE], "lower": [THIN, BLUE], "upper": [THIN, BLUE]},
)
SCORES = Panel(
    "timeseries",
    "Score and threshold",
    {
        "{{series}}": f"caps_watch_score{CHOSEN}",
        "threshold": f"max(caps_watch_threshold{CHOSEN})",
    },
    fields={"min": 0, "max": 1},
)
INCIDENTS = Panel(
    "state-timeline",
    "Incidents, and silenced events",
    {"{{series}}": f"caps_watch_incident_open{CHOSEN} + 2 * caps_watch_silenced_open{CHOSEN}"},
    fields={
        "mappings": [
            {
                "type": "value",
                "options": {
                    str(state): {"text": text, "color": color}
                    for state, (text, color) in enumerate(STATES)
                },
            }
        ]
    },
)
NOW = (
    Panel("table", "Incidents so far", {"{{series}}": "topk(20, caps_watch_incidents_total)"}),
    Panel("table", "Refit recommended", {"{{series}}": f"caps_watch_drift{CHOSEN}"}),
    Panel(
        "timeseries",
        "Age of the newest row",
        {"{{series}}": f"time() - caps_watch_last_row_timestamp_seconds{CHOSEN}"},
        fields={"unit": "s"},
    ),
)
ITSELF = (
    Panel(
        "timeseries",
        "Alerts by sink and outcome",
        {
            "{{sink}} {{outcome}}": "sum by (sink, outcome) (caps_watch_alerts_total)",
            "{{sink}} failing": "max by (sink) (caps_watch_sink_failing)",
        },
    ),
    Panel(
        "timeseries",
        "Rows a second, and rows refused",
        {
            "taken in": "sum(rate(caps_watch_rows_total[5m]))",
            "{{reason}}": "sum by (reason) (caps_watch_refused_rows_total)",
        },
    ),
    Panel(
        "timeseries",
        "Polls, refits, memory and configuration",
        {
            "polls {{outcome}}": "sum by (outcome) (caps_watch_polls_total)",
            "memory": "process_resident_memory_bytes and on (instance, job) caps_watch_info",
            "configuration": "min(caps_watch_config_ok)",
            "age of the state": "time() - max(caps_watch_saved_timestamp_seconds)",
            "refits: {{outcome}}": "sum by (outcome) (caps_watch_refits_total)",
        },
    ),
)
ROWS = ((4, STATS), (9, (VALUES,)), (7, (SCORES,)), (6, (INCIDENTS,)), (7, NOW), (7, ITSELF))
WIDTH = 24  # of a row
SERIES = "label_values(caps_watch_score, series)"


def grafana_dashboard() -> Facts:
    """The dashboard as JSON values, to be imported into Grafana."""
    return {
        "title": "CAPS",
        "uid": "caps-watch",
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "tags": ["caps"],
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "type": "datasource",
                    "query": "prometheus",
                    "label": "Prometheus",
                },
                {
                    "name": "series",
                    "type": "query",
                    "label": "Series",
                    "datasource": PROMETHEUS,
                    "query": SERIES,
                    "definition": SERIES,
                    "multi": True,
                    "includeAll": True,
                    "allValue": ".*",
                    "refresh": 2,
                    "current": {"text": "All", "value": "$__all"},
                },
            ]
        },
        "annotations": {
            "list": [
                _annotation("Incidents", "red", "caps_watch_incidents_total"),
                _annotation("Silenced", "gray", "caps_watch_silenced_total"),
            ]
        },
        "panels": _panels(),
    }


def _annotation(name: str, color: str, counter: str) -> Facts:
    return {
        "name": name,
        "enable": True,
        "iconColor": color,
        "datasource": PROMETHEUS,
        "expr": f"changes({counter}{CHOSEN}[1m]) > 0",
        "titleFormat": "{{series}}",
    }


def _panels() -> list[Facts]:
    """The panels of each row side by side, all as wide."""
    found: list[Facts] = []
    top = 0
    for height, row in ROWS:
        width = WIDTH // len(row)
        for index, panel in enumerate(row):
            place = {"x": index * width, "y": top, "w": width, "h": height}
            found.append(_panel(len(found) + 1, panel, place))
        top += height
    return found


def _panel(number: int, panel: Panel, place: Facts) -> Facts:
    facts: Facts = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": PROMETHEUS,
        "gridPos": place,
        "targets": [
            {"refId": letter, "datasource": PROMETHEUS, "expr": query, "legendFormat": legend}
            for letter, (legend, query) in zip(ascii_uppercase, panel.queries.items(), strict=False)
        ],
    }
    if panel.description:
        facts["description"] = panel.description
    if panel.fields or panel.lines:
        overrides = [
            {"matcher": {"id": "byRegexp", "options": f"{word} .*"}, "properties": list(looks)}
            for word, looks in panel.lines.items()
        ]
        facts["fieldConfig"] = {"defaults": panel.fields, "overrides": overrides}
    return facts
