"""What the detecting commands share: a run, tables, the summary."""

import time as clock
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from caps.artifacts import replacing, write_text
from caps.cli.event_columns import GAP, event_columns
from caps.cli.progress import ProgressLine, progress_line
from caps.cli.wording import in_options
from caps.errors import InputError
from caps.replacing import check_file
from caps.scoring import FitOptions
from caps.series import ReadOptions, Series, need_pyarrow, read, write_moment

if TYPE_CHECKING:
    from caps.estimator import CAPS
    from caps.events import Analysis, Event, Explanation
    from caps.report import Report
    from caps.scoring import Learned

TableFormat = Literal["csv", "parquet"]
MOST_LISTED = 20  # events on screen
MEANINGS = {
    "if normal": "if normal: how often, in rows, normal data have an event as strong",
    "size": "size: mean distance to what was expected, in standard deviations of the surroundings",
}
MOST_BY_CHANCE = 2.0  # times the events that are expected: as many of low severity say nothing


@dataclass(frozen=True, slots=True)
class Run:
    """One analysed file: everything the outputs are made of."""

    title: str
    model: "CAPS"
    analysis: "Analysis"
    explained: "list[Explanation]"
    seconds: float
    read: Series  # with the values of counters, which are analysed by their rates

    @classmethod
    def of(
        cls,
        file: Path,
        options: FitOptions,
        *,
        title: str,
        known: Sequence[Any] = (),
        exclude: tuple[str, ...] = (),
        planned: Path | None = None,
    ) -> Self:
        """Fit a model to a file and analyse the file by it."""
        started = clock.monotonic()
        given = options.reading.given() | ({"exclude": exclude} if exclude else {})
        with progress_line() as progress:
            model, series = fitted_on(file, options.for_own_rows(), known, progress, **given)
            progress.begin(f"scoring {len(series):,} rows")
            if planned is not None:
                model.set_planned(planned, file.stem)
            analysis = model.analyze(series)
            if count := len(analysis.events):
                progress.begin(f"explaining {count:,} event{'' if count == 1 else 's'}")
            explained = analysis.explanations()
        return cls(title, model, analysis, explained, clock.monotonic() - started, series)

    @property
    def learned(self) -> "Learned":
        """The rows that the model learned from."""
        return self.model.learned_

    @property
    def notes(self) -> list[str]:
        """Remarks on the data, then on the fit, each once."""
        remarks = [*self.read.notes(), *self.analysis.notes, *self.model.notes_]
        return in_options(dict.fromkeys(remarks))

    @property
    def headline(self) -> str:
        """How many events there are, and whether they say anything."""
        chance = self.analysis.alarms(self.model.alarms).expected
        return headline(self.explained, chance, self._trained)

    @property
    def _trained(self) -> tuple[int, int] | None:
        """The part learned from, where some rows are not."""
        learned = self.learned
        return None if len(learned) == learned.rows else (learned.start, learned.end)

    def facts(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        analysis, model = self.analysis, self.model
        return {
            "rows": len(analysis.series),
            "learned": learned_line(self.model),
            "train": [self.learned.start, self.learned.end],
            "train_rows": len(self.learned),
            "headline": self.headline,
            "channels": list(analysis.fitted.names),
            "alarms": model.alarms,
            "threshold": model.threshold_,
            "expected_alarms": model.expected_alarms_,
            "events": [event_facts(each) for each in self.explained],
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }

    def report(self) -> "Report":
        """The content of the HTML report."""
        from caps.report import analysed_report  # half a second that --help does without

        return analysed_report(
            self.title,
            self.model,
            self.analysis,
            self.explained,
            training=(self.learned.start, self.learned.end),
            notes=self.notes,
            seconds=self.seconds,
        )


def fitted_on(
    file: Path,
    options: FitOptions,
    known: Sequence[Any],
    progress: ProgressLine,
    **given: Any,
) -> "tuple[CAPS, Series]":
    """A model of the file, and the file; one that cannot be read is refused at once."""
    progress.begin(f"reading {file.name}")
    series = read(file, columns=options.columns, time=options.time, **given)
    progress.begin("learning")
    from caps.estimator import CAPS  # a fifth of a second that a refusal does without

    model = CAPS(**options.parameters())
    return model.fit(series, known_anomalies=known, progress=progress), series


def analyze_file(
    model: Path,
    file: Path,
    *,
    alarms: str | None,
    time: str | Literal[False] | None,
    reading: ReadOptions,
    planned: Path | None = None,
    pretrained: Path | None = None,
) -> "tuple[CAPS, Analysis]":
    """A saved model and a file by it; what is given goes before what the model remembers."""
    from caps.estimator import CAPS  # a fifth of a second that a refusal does without

    fitted = CAPS.load(model, pretrained=pretrained)
    if alarms is not None:
        fitted.set_alarms(alarms)
    if time is not None:
        fitted.set_params(time=time)
    if planned is not None:
        fitted.set_planned(planned, file.stem)
    fitted.set_params(reading=reading.over(fitted.reading))
    return fitted, fitted.analyze(file)


def event_facts(event: "Event") -> dict[str, Any]:
    """An event as JSON values; times in UTC, left out where there are none."""
    facts = event.to_dict(lambda time: write_moment(time, "s", separator="T"))
    omitted = {"channel", "kind_scores"}
    if event.start_time is None:
        omitted |= {"start", "end", "peak"}
    return {name: value for name, value in facts.items() if name not in omitted}


def write_table(frame: Any, path: Path) -> None:
    """Write a pandas frame as CSV or Parquet, by the end of the name."""
    if path.suffix == ".parquet":
        need_pyarrow("Parquet")
        with replacing(path) as temporary:
            frame.to_parquet(temporary, index=False)
        return
    write_text(path, frame.to_csv(index=False, float_format="%.10g"))


def write_scores(analysis: "Analysis", path: Path, *, bands: bool) -> None:
    """Write the scores of all rows with their times, or with their numbers if there are none."""
    from caps.events import score_table  # a tenth of a second before anything is read

    frame = score_table(analysis, bands=bands)
    if analysis.series.time is None:
        frame.insert(0, "row", range(len(frame)))
    write_table(frame, path)


def write_events(analysis: "Analysis", explained: "Sequence[Event]", path: Path) -> None:
    """Write the events, each with its reason."""
    from caps.events import event_table  # a tenth of a second before anything is read

    write_table(event_table(analysis, explained), path)


def check_table(out: Path, file: Path) -> None:
    """Refuse a table that could not be written, or would replace the file it is made from."""
    if out.suffix not in (".csv", ".parquet"):
        raise InputError(f"{out} is neither .csv nor .parquet", "end the name in one of them")
    check_file(out)
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"{out} is the file to read", "name another file with --out")


def print_summary(run: Run, files: list[Path]) -> None:
    """What was read, what was found, and where it was written."""
    from rich.console import Console  # 0.04 s before anything is read

    console = Console(highlight=False)
    console.print(learned_line(run.model), markup=False, soft_wrap=True)
    console.print(str(run.analysis.series), markup=False)
    for note in run.notes:
        console.print(f"note: {note}", markup=False, style="dim")
    expected = ", ".join(f"{rate:.3g} {per}" for per, rate in run.model.expected_alarms_.items())
    console.print(f"alarm budget {run.model.alarms}: {expected} to expect on normal data")
    print_events(run.explained, run.analysis.series, run.headline)
    for path in files:
        console.print(f"written {path}", soft_wrap=True, markup=False)


def learned_line(model: "CAPS") -> str:
    """The first line of what a command says: what was learned from."""
    return in_options([model.learned_.sentence])[0]


def headline(
    events: "Sequence[Event]", chance: float | None, trained: tuple[int, int] | None = None
) -> str:
    """How many events of which severity, and whether as many are expected by chance.

    Events are counted and expected in all rows; those in the `trained` ones, a part of them, are
    told apart.
    """
    said = _told([event for event in events if event.alarm], chance)
    said += _silenced(events)
    within = [event for event in events if trained and trained[0] <= event.start < trained[1]]
    if not within:
        return said
    return f"{said}; {len(within)} in the part learned from"


def _silenced(events: "Sequence[Event]") -> str:
    """How many events are no alarms, and why."""
    count = Counter(event.silence.why for event in events if event.silence is not None)
    told = (count["planned"], "more planned"), (count["feedback"], "more silenced by feedback")
    return "".join(f"; {number} {text}" for number, text in told if number)


def _told(events: "Sequence[Event]", chance: float | None) -> str:
    from caps.events import SEVERITIES  # a tenth of a second before anything is read

    count = Counter(event.severity for event in events)
    total = f"{len(events)} event{'' if len(events) == 1 else 's'}"
    by_chance = "" if chance is None else f"about {chance:.2g} expected by chance"
    if not events:
        return f"no events; {by_chance}" if by_chance else "no events"
    if set(count) == {"low"} and chance is not None and len(events) <= MOST_BY_CHANCE * chance + 1:
        return f"nothing stands out: {total} of low severity, {by_chance}"
    severities = ", ".join(f"{count[each]} {each}" for each in SEVERITIES if count[each])
    told = f"{total}: {severities}" if severities else total
    return f"{told}; {by_chance}" if by_chance else told


def print_events(events: "Sequence[Event]", series: "Series", said: str) -> None:
    """The headline, then the events as a table, the strongest first, not all if there are many."""
    # 0.04 s before anything is read
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    console.print(said, style="bold" if events else None)
    if not events:
        return
    count = len(events)
    shown = sorted(events, key=lambda event: (event.p_value or 0.0, -event.score))[:MOST_LISTED]
    columns = event_columns(shown, series, console.width)
    table = Table(*columns, box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(escape, row))
    console.print(table)
    meant = [
        f"times in {series.timezone}" if series.time is not None and series.timezone else "",
        *(text for name, text in MEANINGS.items() if name in columns),
    ]
    console.print("; ".join(filter(None, meant)), style="dim")
    if count > len(shown):
        console.print(f"the {len(shown)} strongest of {count}; all are in the files", style="dim")
