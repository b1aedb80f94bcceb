"""One HTML file that tells what happened, when, how sure that is and why; opens offline."""

from caps.report.content import Budget, Channel, EventCard, Panel, Report
from caps.report.notebook import overview_figure
from caps.report.page import render_report, write_report

__all__ = [
    "Budget",
    "Channel",
    "EventCard",
    "Panel",
    "Report",
    "overview_figure",
    "render_report",
    "write_report",
]
