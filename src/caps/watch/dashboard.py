"""A dashboard for Grafana over what a watch serves: a table of panels, and how each is written."""

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
    """A panel: its queries by their legends, its size, and what is special about its fields."""

    kind: str
    title: str
    queries: Mapping[str, str]
    width: int
    height: int
    description: str = ""
    fields: Facts = field(default_factory=dict)
    lines: Mapping[str, Sequence[Facts]] = field(default_factory=dict)  # looks by the first word


PANELS = (
    Panel("stat", "Open incidents", {"": "sum(caps_watch_incident_open)"}, 4, 4),
    Panel("stat", "Series watched", {"": "sum(caps_watch_series)"}, 4, 4),
    Panel("stat", "Series without data", {"": "sum(caps_watch_no_data)"}, 4, 4),
    Panel("stat", "Sources up", {"": "min(caps_watch_source_up)"}, 4, 4),
    Panel("stat", "Lag", {"": "max(caps_watch_lag_seconds)"}, 4, 4, fields={"unit": "s"}),
    Panel(
        "stat",
        "Share of a core",
        {"": "sum(rate(caps_watch_busy_seconds_total[5m]))"},
        width=4,
        height=4,
        fields={"unit": "percentunit"},
    ),
    Panel(
        "timeseries",
        "Value and the range that counts as normal",
        {
            "{{series}} {{channel}}": f"caps_watch_value{CHOSEN}",
            "expected {{series}} {{channel}}": f"caps_watch_expected{CHOSEN}",
            "lower {{series}} {{channel}}": f"caps_watch_lower{CHOSEN}",
            "upper {{series}} {{channel}}": f"caps_watch_upper{CHOSEN}",
        },
        width=24,
        height=9,
        description="The range holds 99 of 100 normal rows; alarms come from the score.",
        lines={"expected": [DASHED, BLUE], "lower": [THIN, BLUE], "upper": [THIN, BLUE]},
    ),
    Panel(
        "timeseries",
        "Score and threshold",
        {
            "{{series}}": f"caps_watch_score{CHOSEN}",
            "threshold": f"max(caps_watch_threshold{CHOSEN})",
        },
        width=24,
        height=7,
        fields={"min": 0, "max": 1},
    ),
    Panel(
        "state-timeline",
        "Incidents, and silenced events",
        {"{{series}}": f"caps_watch_incident_open{CHOSEN} + 2 * caps_watch_silenced_open{CHOSEN}"},
        width=24,
        height=6,
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
    ),
    Panel(
        "table", "Incidents so far", {"{{series}}": "topk(20, caps_watch_incidents_total)"}, 8, 7
    ),
    Panel("table", "Refit recommended", {"{{series}}": f"caps_watch_drift{CHOSEN}"}, 8, 7),
    Panel(
        "timeseries",
        "Age of the newest row",
        {"{{series}}": f"time() - caps_watch_last_row_timestamp_seconds{CHOSEN}"},
        width=8,
        height=7,
        fields={"unit": "s"},
    ),
    Panel(
        "timeseries",
        "Alerts by sink and outcome",
        {
            "{{sink}} {{outcome}}": "sum by (sink, outcome) (caps_watch_alerts_total)",
            "{{sink}} failing": "max by (sink) (caps_watch_sink_failing)",
        },
        width=8,
        height=7,
    ),
    Panel(
        "timeseries",
        "Rows a second, and rows refused",
        {
            "taken in": "sum(rate(caps_watch_rows_total[5m]))",
            "{{reason}}": "sum by (reason) (caps_watch_refused_rows_total)",
        },
        width=8,
        height=7,
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
        width=8,
        height=7,
    ),
)
WIDTH = 24  # of a row of panels
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
        "panels": _laid_out(PANELS),
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


def _laid_out(panels: Sequence[Panel]) -> list[Facts]:
    """The panels side by side, a new row where one is full."""
    found, x, y = [], 0, 0
    for number, panel in enumerate(panels, start=1):
        found.append(_panel(number, panel, x, y))
        x += panel.width
        if x == WIDTH:
            x, y = 0, y + panel.height
    return found


def _panel(number: int, panel: Panel, x: int, y: int) -> Facts:
    facts: Facts = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": PROMETHEUS,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
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
