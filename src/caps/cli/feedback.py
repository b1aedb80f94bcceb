"""`caps feedback`: say what an event was; those like it are alarms, or none, from then on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from caps.cli import results
from caps.cli.options import Flag, Json, TimeColumn, answer, group, takes_read_options
from caps.errors import InputError
from caps.series import ReadOptions, write_moment

if TYPE_CHECKING:
    from caps.estimator import CAPS
    from caps.events import AlarmChange, Analysis, Event

MOST_LISTED = 20  # alarms on screen
Model = Annotated[Path, Parameter(help="Model, or folder of versions of one.")]
Note = Annotated[str, Parameter(help="A few words on why, shown wherever it counts.")]
DryRun = Annotated[Flag, Parameter(help="Show what would change, and leave it at that.")]
Rows = Annotated[Path, Parameter(help="CSV or Parquet file with the event.")]
Which = Annotated[str, Parameter(help="Its number in `caps events`, or a moment within it.")]

feedback = group(
    "feedback", "Say whether events were incidents: it changes what alarms, until it is revoked."
)


@feedback.command
@takes_read_options()
def dismiss(
    model: Model,
    file: Rows,
    event: Which,
    *,
    note: Note = "",
    dry_run: DryRun = False,
    time: TimeColumn = None,
    reading: ReadOptions,
    json_output: Json = False,
) -> None:
    """Say that an event was no incident: events like it are no alarms from now on.

    Example: caps feedback dismiss model/ metrics.csv 3 --note "nightly backup"
    """
    fitted, found = _analysed(model, file, time, reading)
    change = fitted.dismiss(found, _number(found, event), note=note, dry_run=dry_run)
    _tell(model, fitted, found, change, dry_run, json_output)


@feedback.command
@takes_read_options()
def confirm(
    model: Model,
    file: Rows,
    event: Which,
    *,
    kind: str | None = None,
    note: Note = "",
    dry_run: DryRun = False,
    time: TimeColumn = None,
    reading: ReadOptions,
    json_output: Json = False,
) -> None:
    """Say that an event was an incident: events like it are alarms, and of the same kind.

    Example: caps feedback confirm model/ metrics.csv 5 --kind "disk full"

    Args:
        kind: What events like it are to be called.
    """
    fitted, found = _analysed(model, file, time, reading)
    number = _number(found, event)
    change = fitted.confirm(found, number, kind=kind, note=note, dry_run=dry_run)
    _tell(model, fitted, found, change, dry_run, json_output)


@feedback.command
@takes_read_options()
def revoke(
    model: Model,
    id: str,
    file: Path | None = None,
    *,
    dry_run: DryRun = False,
    time: TimeColumn = None,
    reading: ReadOptions,
    json_output: Json = False,
) -> None:
    """Take feedback back: all is as if it had not been given.

    Example: caps feedback revoke model/ f1

    Args:
        id: As `caps feedback list` shows it.
        file: CSV or Parquet file to show on what changes.
    """
    if file is None:
        from caps.estimator import CAPS  # a fifth of a second that --help does without

        fitted, found = CAPS.load(model), None
    else:
        fitted, found = _analysed(model, file, time, reading)
    change = fitted.revoke(id, found, dry_run=dry_run)
    _tell(model, fitted, found, change, dry_run, json_output, id)


@feedback.command(name="list")
def list_feedback(model: Model, *, json_output: Json = False) -> None:
    """List all feedback on a model, also what was revoked.

    Example: caps feedback list model/
    """
    from caps.estimator import CAPS  # a fifth of a second that --help does without

    book = CAPS.load(model).feedback_
    facts = [_without_rows(each.to_dict()) for each in book]
    answer(facts, json_output, *(map(str, book) if len(book) else ["no feedback so far"]))


def _analysed(
    model: Path, file: Path, time: str | None, reading: ReadOptions
) -> "tuple[CAPS, Analysis]":
    return results.analyze_file(model, file, alarms=None, time=time, reading=reading)


def _number(found: "Analysis", event: str) -> int:
    """The number of an event that is given by it or by a moment."""
    if event.isdecimal():
        return int(event)
    number = int(found.event_id[found.series.row_at(event, f"the event at {event!r}")])
    if not number:
        raise InputError(f"no event covers {event}", "see caps events for their times")
    return number


def _tell(
    path: Path,
    fitted: "CAPS",
    found: "Analysis | None",
    change: "AlarmChange | None",
    dry_run: bool,
    json_output: bool,
    revoked: str | None = None,
) -> None:
    """Keep what was said, and print it with what it changes."""
    if not dry_run:
        _keep(path, fitted)
    book = fitted.feedback_
    said = "not taken: this was a dry run"
    facts: dict[str, Any] = {"taken": not dry_run, "change": None}
    if not dry_run:
        last = next(each for each in reversed(book.entries) if revoked in (None, each.id))
        facts["feedback"], said = _without_rows(last.to_dict()), str(last)
    lines = [said]
    if change is not None:
        facts["change"] = change.to_dict()
        lines.append(str(change))
        lines += [f"  lost    {_when(found, event)}" for event in change.lost[:MOST_LISTED]]
        lines += [f"  gained  {_when(found, event)}" for event in change.gained[:MOST_LISTED]]
    answer(facts, json_output, *lines)


def _keep(path: Path, fitted: "CAPS") -> None:
    from caps.store import Store  # a tenth of a second that --help does without

    if Store.is_at(path):
        Store(path).set_feedback(fitted.feedback_)
    else:
        from caps.estimator import CAPS  # a fifth of a second that --help does without

        # As it was saved: what was given for this reading of a file is not the model's.
        CAPS.load(path).set_feedback(fitted.feedback_).save(path)


def _when(found: "Analysis | None", event: "Event") -> str:
    if found is None or found.series.time is None:
        return f"event {event.number}, rows {event.start:,} to {event.end - 1:,}"
    zone = found.series.timezone
    start, end = (
        write_moment(found.series.time[row], "s", timezone=zone)
        for row in (event.start, event.end - 1)
    )
    return f"event {event.number}, {start} to {end}"


def _without_rows(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name != "example"}
