"""One HTML file that tells what happened, when, how sure that is and why; opens offline."""

from caps.report.charts import overview_figure
from caps.report.content import (
    Budget,
    Channel,
    EventCard,
    Panel,
    Report,
    analysed_report,
    budgets_of,
)
from caps.report.page import KINDS, rarity, render_report, write_report

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
