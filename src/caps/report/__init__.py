"""One HTML file that tells what happened, when, how sure that is and why; opens offline."""

from caps.report.analysed import analysed_report, budgets_of
from caps.report.charts import overview_figure
from caps.report.content import Budget, Channel, EventCard, Panel, Report
from caps.report.page import render_report, write_report
from caps.report.sentences import KINDS, rarity

__all__ = [
    "KINDS",
    "Budget",
    "Channel",
    "EventCard",
    "Panel",
    "Report",
    "analysed_report",
    "budgets_of",
    "overview_figure",
    "rarity",
    "render_report",
    "write_report",
]
