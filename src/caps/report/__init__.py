"""One HTML file that tells what happened, when, how sure that is and why; opens offline."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.report.charts import overview_figure as overview_figure
    from caps.report.content import (
        Budget as Budget,
        Channel as Channel,
        EventCard as EventCard,
        Panel as Panel,
        Report as Report,
        analysed_report as analysed_report,
        budgets_of as budgets_of,
    )
    from caps.report.page import (
        KINDS as KINDS,
        rarity as rarity,
        render_report as render_report,
        write_report as write_report,
    )

__getattr__ = on_first_use(__name__)
