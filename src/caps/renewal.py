"""Models of many series kept fresh, as `[refits]` of a `caps.toml` or a fleet's command says.

A series is due by the age of its newest version, or by drift. Its past is read again from its
source, and another version is fitted beside the one in force and compared with it. Who asked shows
the comparison, and then lets the new version take over.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from caps.artifacts import MANIFEST
from caps.errors import CapsError, InputError
from caps.estimator import CAPS
from caps.fleet import Entry, file_name, find_series
from caps.planned import Planned
from caps.refit import Judging, reason_to_refit, refit, versions_of
from caps.series import Series, read
from caps.store import Store
from caps.watch import RefitRound, Refits, RoundEnd, WatchConfig, history_of

NICENESS = 10  # a refit steps behind the rows that are watched


@dataclass(frozen=True, slots=True, eq=False)
class Renewal:
    """A series, its model, and when another version of it is due."""

    entry: Entry
    folder: Path  # of the model, or of its versions
    refits: Refits
    judging: Judging = field(default_factory=Judging)
    why: str | None = None  # another one is due, where that is known already


def renew(renewal: Renewal) -> dict[str, Any]:
    """Fit another version if one is due, and compare it; what came of it, as JSON values."""
    entry, refits = renewal.entry, renewal.refits
    facts: dict[str, Any] = {"series": entry.id, "folder": str(renewal.folder)}
    try:
        store = versions_of(renewal.folder)
        series = _past(renewal, store)
        every = None if refits.every is None else np.timedelta64(round(refits.every), "s")
        why = renewal.why or reason_to_refit(store, series, every=every, on_drift=refits.on_drift)
        if why is None:
            return facts
        if why == "drift" and refits.review and store.facts.versions[-1] != store.current:
            return facts  # one waits until somebody puts it in force
        source = entry.source.name if isinstance(entry.source, Path) else "the source's past"
        made = refit(
            store, series, source=source, why=why, keep=refits.keep, judging=renewal.judging
        )
    except CapsError as error:
        return facts | {"problem": str(error)}
    change = None if made.change is None else made.change.to_dict()
    return facts | {"version": made.version.name, "why": why, "change": change}


def _past(renewal: Renewal, store: Store) -> Series:
    source = renewal.entry.source
    if isinstance(source, Series):
        return source
    model = CAPS.load(store.folder)
    return read(source, columns=list(model.names_), time=model.time, **model.reading.given())


def put_in_force(done: Iterable[dict[str, Any]]) -> None:
    """Let the versions that were made take over."""
    for each in done:
        if "version" in each and each["change"] is not None:
            store = Store(each["folder"])
            store.promote(each["version"], why=each["why"], change=each["change"])


def renew_round(asked: RefitRound) -> RoundEnd:
    """The refits of a watch that are due now, for a process of its own."""
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    return renew_due(asked)


def renew_due(asked: RefitRound) -> RoundEnd:
    """Renew every series that is due by age or has drifted; the past is read only for these."""
    config, every = asked.config, asked.config.refits.every
    homes = model_folders(config.models)
    ages = {name: asked.now - made_at(folder) for name, folder in homes.items()}
    left = {name: every - age for name, age in ages.items()} if every is not None else {}
    drifted = {home for id in asked.drifted if (home := home_of(homes, id)) is not None}
    due = {homes[name] for name, seconds in left.items() if seconds <= 0} | drifted
    done = []
    if due:
        for renewal in renewals(config, asked.now):
            if renewal.folder in due:
                why = "drift" if renewal.folder in drifted else "schedule"
                done.append(renew(replace(renewal, why=why)))
    later = [seconds for seconds in left.values() if seconds > 0]
    return RoundEnd(tuple(done), min(later, default=every))


def renewals(config: WatchConfig, now: float) -> list[Renewal]:
    """Every series of the sources that has a model."""
    homes = model_folders(config.models)
    entries = _one_file(config) if list(homes) == [""] else []
    entries = entries or entries_of(config, now)
    if list(homes) == [""] and len(entries) > 1:
        raise InputError(
            f"{len(entries)} series have one model, {config.models}",
            "fit one for each: caps fleet fit --config",
        )
    planned = config.planned
    if config.planned_file is not None:
        planned = Planned.read(config.planned_file)
    found = []
    for entry in entries:
        home = home_of(homes, entry.id)
        if home is not None:
            judging = Judging(config.budget_of(entry.id), planned, entry.id)
            found.append(Renewal(entry, home, config.refits, judging))
    return found


def _one_file(config: WatchConfig) -> list[Entry]:
    """All columns of a file as one series, as a watch of one model sees it."""
    if len(config.sources) > 1 or config.sources[0].id or config.sources[0].file in (None, "-"):
        return []
    path = Path(config.sources[0].file or "")
    return [Entry(path.name, path, "")]


def entries_of(config: WatchConfig, now: float) -> list[Entry]:
    """The series of all sources with their past, but for those that are ignored."""
    entries: list[Entry] = []
    for source in config.sources:
        if source.prometheus is not None:
            entries += [
                Entry(name, series, f"{series.time[0]} {series.time[-1]}")
                for name, series in history_of(source, now).items()
                if series.time is not None
            ]
        elif source.file == "-":
            raise InputError("standard input cannot be fitted", "name a file in [[sources]]")
        else:
            entries += find_series(source.file or "", id=source.id, time=source.time)
    return [each for each in entries if not config.rule_of(each.id).ignore]


def fleet_renewals(entries: Sequence[Entry], models: Path, refits: Refits) -> list[Renewal]:
    """Every series of a fleet that has a model in a folder by their names."""
    homes = model_folders(models)
    found = [(each, home_of(homes, each.id)) for each in entries]
    return [Renewal(each, home, refits) for each, home in found if home is not None]


def model_folders(models: Path | None) -> dict[str, Path]:
    """Folders of models or versions by name; that of one model alone has none.

    Exported models are left out: they cannot be fitted.
    """
    if models is None or (models / MANIFEST).is_file():
        return {} if models is None else {"": models}
    return {path.parent.name: path.parent for path in sorted(models.glob(f"*/{MANIFEST}"))}


def home_of(homes: dict[str, Path], id: str) -> Path | None:
    """The folder for a series id."""
    return homes.get("") or homes.get(file_name(id)) or homes.get(id)


def made_at(folder: Path) -> float:
    """When the newest version was made, in seconds since 1970; of one model, when it was saved."""
    if not Store.is_at(folder):
        return (folder / MANIFEST).stat().st_mtime
    return datetime.fromisoformat(Store(folder).facts.versions[-1].made).timestamp()
