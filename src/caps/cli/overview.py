"""The picture of `caps demo`: metrics, incidents, score and events over the month."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.errors import InputError
from caps.plots import LIGHT, SMALL, colour, draw_lines, name_left, need_matplotlib, write_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caps.cli.results import Run
    from caps.simulate import Incident


def draw_overview(run: "Run", incidents: "tuple[Incident, ...]", path: Path) -> bool:
    """Draw to a PNG file; False where matplotlib is not installed."""
    try:
        need_matplotlib()
    except InputError:
        return False
    from matplotlib.dates import DateFormatter  # an extra, and half a second to import

    analysis, time = run.analysis, run.analysis.series.time
    assert time is not None  # the demo writes them itself
    figure, panels = draw_lines(analysis)
    for panel, name in zip(panels, [*analysis.series.channels, None], strict=True):
        panel.axvspan(time[0], time[run.train_rows], color=colour("--training"), lw=0, zorder=-1)
        for each in incidents:
            if name is None or name in each.metrics:
                panel.axvspan(each.start, each.end, color=colour("--mark"), lw=0, zorder=0)  # type: ignore[arg-type]
    score = panels[-1]
    score.set_ylim(0, 1.15)
    for event in analysis.events:
        ends = [time[event.start], time[event.end - 1]]
        # With markers, as a line within one pixel is not drawn.
        score.plot(ends, [1.08, 1.08], "o-", color=LIGHT["--event"], lw=5, ms=5, mew=0)
    score.xaxis.set_major_formatter(DateFormatter("%d %b"))  # type: ignore[no-untyped-call]
    name_left(score, "CAPS score\nand events")
    _name_above(panels[0], "training part, no incidents", time[0], time[run.train_rows - 1])
    for each in incidents:
        _name_above(panels[0], each.name.replace(" ", "\n", 1), each.start, each.end)
    write_png(figure, path)
    return True


def _name_above(panel: "Axes", name: str, start: Any, end: Any) -> None:
    panel.annotate(
        name,
        (start + (end - start) / 2, 1.04),
        xycoords=panel.get_xaxis_transform(),
        ha="center",
        fontsize=SMALL,
        annotation_clip=False,
    )
