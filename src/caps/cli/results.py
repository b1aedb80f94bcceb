"""What the detecting commands share: a run, tables, the summary."""

import time as clock
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caps.artifacts import replacing, write_text
from caps.cli.event_columns import GAP, event_columns
from caps.cli.progress import progress_line
from caps.cli.wording import in_options
from caps.errors import InputError
from caps.events import SEVERITIES, score_table
from caps.replacing import check_file
from caps.scoring import FitOptions
from caps.series import ReadOptions, Series, need_pyarrow, read, write_moment

if TYPE_CHECKING:
    from caps.estimator import CAPS
    from caps.events import Analysis, Event, Explanation
    from caps.report import Report

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
    train_rows: int
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
    ) -> Self:
        """Fit a model to a file and analyse the file by it."""
        from caps.estimator import CAPS  # torch: two seconds that --help and a refusal do without

        started = clock.monotonic()
        given = options.reading.given() | ({"exclude": exclude} if exclude else {})
        series = read(file, columns=options.columns, time=options.time, **given)
        model = CAPS(**options.parameters())
        with progress_line() as progress:
            model.fit(series, known_anomalies=known, progress=progress)
        analysis = model.analyze(series)
        explained, rows = analysis.explanations(), len(series.training_part(options.train))
        seconds = clock.monotonic() - started
        return cls(title, model, analysis, explained, rows, seconds, series)

    @property
    def notes(self) -> list[str]:
        """Remarks on the data, then on the fit, each once."""
        remarks = [*self.read.notes(), *self.analysis.notes, *self.model.notes_]
        return in_options(dict.fromkeys(remarks))

    def facts(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        analysis, model = self.analysis, self.model
        return {
            "rows": len(analysis.series),
            "train_rows": self.train_rows,
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
            training_end=self.train_rows,
            notes=self.notes,
            seconds=self.seconds,
        )


def analyze_file(
    model: Path,
    file: Path,
    *,
    alarms: str | None,
    time: str | Literal[False] | None,
    reading: ReadOptions,
    pretrained: Path | None = None,
) -> "tuple[CAPS, Analysis]":
    """A saved model and a file by it; what is given goes before what the model remembers."""
    from caps.estimator import CAPS  # torch: two seconds that --help and a refusal do without

    fitted = CAPS.load(model, pretrained=pretrained)
    if alarms is not None:
        fitted.set_alarms(alarms)
    if time is not None:
        fitted.set_params(time=time)
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


def write_scores(analysis: "Analysis", path: Path) -> None:
    """Write the scores of all rows with their times, or with their numbers if there are none."""
    frame = score_table(analysis)
    if analysis.series.time is None:
        frame.insert(0, "row", range(len(frame)))
    write_table(frame, path)


def check_table(out: Path, file: Path) -> None:
    """Refuse a table that could not be written, or would replace the file it is made from."""
    if out.suffix not in (".csv", ".parquet"):
        raise InputError(f"{out} is neither .csv nor .parquet", "end the name in one of them")
    check_file(out)
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"{out} is the file to read", "name another file with --out")


def print_summary(run: Run, files: list[Path]) -> None:
    """What was read, what was found, and where it was written."""
    console = Console(highlight=False)
    console.print(str(run.analysis.series), markup=False)
    for note in run.notes:
        console.print(f"note: {note}", markup=False, style="dim")
    expected = ", ".join(f"{rate:.3g} {per}" for per, rate in run.model.expected_alarms_.items())
    console.print(f"alarm budget {run.model.alarms}: {expected} to expect on normal data")
    chance = run.analysis.alarms(run.model.alarms).expected
    print_events(run.explained, run.analysis.series, chance)
    for path in files:
        console.print(f"written {path}", soft_wrap=True, markup=False)


def headline(events: "Sequence[Event]", chance: float | None) -> str:
    """How many events of which severity, and whether as many are expected by chance."""
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


def print_events(events: "Sequence[Event]", series: "Series", chance: float | None = None) -> None:
    """The events as a table, the strongest if there are many; `chance` is how many were likely."""
    console = Console(highlight=False)
    console.print(headline(events, chance), style="bold" if events else None)
    if not events:
        return
    count = len(events)
    shown = sorted(events, key=lambda event: event.p_value or 0.0)[:MOST_LISTED]
    shown.sort(key=lambda event: event.number)
    columns = event_columns(shown, series, console.width)
    table = Table(*columns, box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(escape, row))
    console.print(table)
    said = [
        f"times in {series.timezone}" if series.time is not None and series.timezone else "",
        *(text for name, text in MEANINGS.items() if name in columns),
    ]
    console.print("; ".join(filter(None, said)), style="dim")
    if count > len(shown):
        console.print(f"the {len(shown)} strongest of {count}; all are in the files", style="dim")
