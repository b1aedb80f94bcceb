"""`detect`: everything in one call, from a table to events, scores and a report."""

import os
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from caps.estimator import CAPS
from caps.events import event_table, score_table
from caps.scoring import FitOptions, carrying, read_input
from caps.series import write_moment
from caps.wording import listed

if TYPE_CHECKING:
    from caps.events import Analysis, Explanation
    from caps.scoring import Learned


@dataclass(frozen=True, eq=False)
class Detection:
    """What was found in a series, and the model that found it."""

    model: CAPS
    analysis: "Analysis"

    @cached_property
    def explanations(self) -> "list[Explanation]":
        """The events, each with its reason."""
        return self.analysis.explanations()

    @cached_property
    def events(self) -> Any:
        """The events as a frame: when, how strong, of what kind, in which channels."""
        return event_table(self.analysis, self.explanations)

    @cached_property
    def scores(self) -> Any:
        """Score, p_value, flag, event number and contributions of every row."""
        return score_table(self.analysis)

    @property
    def learned(self) -> "Learned":
        """The part of the series that was learned from; `learned.sentence` says it."""
        return self.model.learned_

    @property
    def notes(self) -> list[str]:
        """Remarks on the data and on the fit."""
        return list(dict.fromkeys([*self.analysis.notes, *self.model.notes_]))

    def report(self, path: str | os.PathLike[str], *, title: str = "CAPS") -> None:
        """Write the report: one HTML file that opens offline."""
        from caps.report import analysed_report, write_report  # half a second for most other uses

        made = analysed_report(
            title,
            self.model,
            self.analysis,
            self.explanations,
            training=(self.learned.start, self.learned.end),
            notes=self.notes,
        )
        write_report(made, os.fspath(path))

    def __repr__(self) -> str:
        count = len(self.analysis.events)
        return f"Detection({count} event{'' if count == 1 else 's'} in {self.analysis.series!r})"

    def __str__(self) -> str:
        count, rows = len(self.analysis.events), len(self.analysis.series)
        said = f"{count} event{'' if count == 1 else 's'} in {rows:,} rows; {self.learned.sentence}"
        return "\n".join([said, *map(self._told, self.explanations)])

    def _told(self, event: "Explanation") -> str:
        """An event in a line: when, in which channels, how severe, and why."""
        first, last = (self._moment(row) for row in (event.start, event.end - 1))
        where = listed(carrying(event.contributions), 3)
        return f"{first} to {last}, {where}, {event.severity}: {event.reason}"

    def _moment(self, row: int) -> str:
        series = self.analysis.series
        if series.time is None:
            return f"row {row:,}"
        return write_moment(series.time[row], timezone=series.timezone)

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{escape(self._told(each))}</li>" for each in self.explanations)
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        remarks = f"<details><summary>Remarks</summary><ul>{notes}</ul></details>" if notes else ""
        told = f"<p>{escape(str(self).splitlines()[0])}</p>"
        return f"{told}<ol>{rows}</ol>{remarks}"


def detect(X: Any, **options: Any) -> Detection:
    """Fit on a series and find its anomalies: `options` are those of `CAPS`.

    Without `train`, the first part that looks steady is learned from; `train="all"` takes all rows.

    >>> import numpy as np, caps
    >>> wave = np.sin(np.arange(600) / 8) + 0.1 * np.random.default_rng(0).standard_normal(600)
    >>> wave[500:504] += 4
    >>> found = caps.detect(wave, train=400)
    >>> bool(found.scores["flag"][500:504].any())
    True
    """
    model = CAPS(**FitOptions(**options).for_own_rows().parameters())
    series = read_input(X, columns=model.columns, time=model.time, reading=model.reading)
    return Detection(model, model.fit(series).analyze(series))
