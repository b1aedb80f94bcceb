"""`caps model`: versions of a model, compared before one takes over, and taken back."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from caps.cli.options import Flag, Json, TimeColumn, answer, group, takes_read_options
from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.series import ReadOptions, read
from caps.store import KEEP, Store

if TYPE_CHECKING:
    from caps.events import AlarmChange

MOST_LISTED = 20  # alarms on screen
Folder = Annotated[Path, Parameter(help="Folder of versions; usable wherever a model is.")]

model = group("model", "Versions of a model: fit again, compare, put in force, roll back.")


@model.command
@takes_read_options()
def refit(
    folder: Folder,
    file: Path,
    *,
    base: Path | None = None,
    train: str | None = None,
    every: str | None = None,
    on_drift: Flag = False,
    promote: Flag = False,
    keep: int = KEEP,
    time: TimeColumn = None,
    reading: ReadOptions,
    json_output: Json = False,
) -> None:
    """Fit another version and show the alarms of the last month that it gains and loses.

    It takes over with --promote or later with `caps model promote`; the first one does at once.
    With --every or --on-drift it does nothing until one of them is due: call it from a timer.

    Example: caps model refit versions/ recent.csv --every 7d --on-drift --promote

    Args:
        file: CSV or Parquet file with the recent past.
        base: For the first version: a model whose options it is fitted with.
        train: What to learn from, as for `caps fit`; all rows if left out.
        every: Due when the newest version is older than this, such as 7d or 12h.
        on_drift: Due when the scores of the rows since no longer look like those of calibration.
        promote: Put the new version in force.
        keep: Versions to keep; the one in force and the one before it stay in any case.
    """
    # half a second that --help does without
    import numpy as np

    from caps.estimator import CAPS
    from caps.refit import reason_to_refit, refit as fit_again
    from caps.scoring import FitOptions
    from caps.watch import seconds_in

    since = None if every is None else np.timedelta64(round(seconds_in(every)), "s")
    store = Store.create(folder)
    path = base if base is not None and not store.facts.versions else folder
    options = FitOptions()
    if path is base or store.facts.versions:
        options = FitOptions(**CAPS.load(path).get_params(deep=False))
    reading = reading.over(options.reading)
    with progress_line() as progress:
        progress.begin(f"reading {file.name}")
        clock = options.time if time is None else time
        series = read(file, columns=options.columns, time=clock, **reading.given())
        progress.begin("looking whether a refit is due")
        why = reason_to_refit(store, series, every=since, on_drift=on_drift)
        if why is None:
            answer({"due": False}, json_output, "no refit is due")
            return
        progress.begin("learning")
        chosen = options.parameters() | {"train": train or "all", "time": clock}
        made = fit_again(
            store,
            series,
            FitOptions(**chosen | {"reading": reading}),
            source=file.name,
            why=why,
            promote=promote,
            keep=keep,
            progress=progress,
        )
    in_force = store.current.name
    taken = "in force" if in_force == made.version.name else f"beside {in_force}, which is in force"
    facts = {
        "due": True,
        "why": why,
        "version": asdict(made.version),
        "in_force": in_force,
        "change": None if made.change is None else made.change.to_dict(),
        "removed": list(made.removed),
    }
    answer(
        facts,
        json_output,
        f"{made.version}; {taken}",
        *_lines(made.change),
        *(f"removed {name}" for name in made.removed),
        *(
            []
            if in_force == made.version.name
            else [f"put it in force with: caps model promote {folder} {made.version.name}"]
        ),
    )


@model.command(name="list")
def list_versions(folder: Folder, *, audit: Flag = False, json_output: Json = False) -> None:
    """List the versions, what they were fitted on, and which is in force.

    Example: caps model list versions/

    Args:
        audit: List every change instead, the oldest first.
    """
    store = _store(folder)
    if audit:
        lines = store.audit()
        told = (
            f"{each['time']} {each['what']} {each.get('version') or each.get('id', '')}"
            for each in lines
        )
        answer(lines, json_output, *told)
        return
    facts = store.facts
    current = facts.in_force[-1] if facts.in_force else None
    answer(
        {"in_force": current, "versions": [asdict(each) for each in facts.versions]},
        json_output,
        *(f"{'*' if each.name == current else ' '} {each}" for each in facts.versions),
    )


@model.command
@takes_read_options()
def compare(
    folder: Folder,
    file: Path,
    version: str,
    *,
    old: str | None = None,
    time: TimeColumn = None,
    reading: ReadOptions,
    json_output: Json = False,
) -> None:
    """Show the alarms of the last month that a version gains and loses.

    Example: caps model compare versions/ recent.csv v3

    Args:
        file: CSV or Parquet file with the recent past.
        version: The one to look at.
        old: The one to compare it with; that in force if left out.
    """
    # half a second that --help does without
    from caps.estimator import CAPS
    from caps.refit import compare as compare_versions

    store = _store(folder)
    names = [store.current.name if old is None else old, version]
    one, other = (CAPS.load(store.path(name)).set_feedback(store.feedback) for name in names)
    reading = reading.over(one.reading)
    clock = one.time if time is None else time
    series = read(file, columns=list(one.names_), time=clock, **reading.given())
    change = compare_versions(one, other, series)
    facts = {"old": names[0], "new": names[1], **change.to_dict()}
    answer(facts, json_output, f"{names[1]} in place of {names[0]}:", *_lines(change))


@model.command
def promote(folder: Folder, version: str, *, json_output: Json = False) -> None:
    """Put a version in force.

    Example: caps model promote versions/ v3
    """
    store = _store(folder)
    store.promote(version, why="asked for")
    answer({"in_force": version}, json_output, f"{version} is in force")


@model.command
def rollback(*folders: Folder, json_output: Json = False) -> None:
    """Put the version in force that was before; of several models at once, as of a fleet.

    Example: caps model rollback versions/
    """
    if len(folders) == 1:
        name = _store(folders[0]).rollback()
        answer({"in_force": name}, json_output, f"{name} is in force again")
        return
    if not folders:
        raise InputError("no versions are named", "name a folder of versions")
    outcomes = {}
    for folder in folders:
        try:
            outcomes[folder.name] = f"{_store(folder).rollback()} is in force again"
        except InputError as error:  # the others go back all the same
            outcomes[folder.name] = f"as it was: {error.problem}"
    answer(outcomes, json_output, *(f"{name}: {each}" for name, each in outcomes.items()))


def _store(folder: Path) -> Store:
    if not Store.is_at(folder):
        raise InputError(
            f"{folder} holds no versions", "make the first one with: caps model refit FOLDER FILE"
        )
    return Store(folder)


def _lines(change: "AlarmChange | None") -> list[str]:
    if change is None:
        return []
    lines = [str(change)]
    for what, events in (("lost", change.lost), ("gained", change.gained)):
        for event in events[:MOST_LISTED]:
            when = event.start_time if event.start_time is not None else f"row {event.start:,}"
            lines.append(f"  {what:<7} {str(when).split('.')[0].replace('T', ' ')}")
    return lines
