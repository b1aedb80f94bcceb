"""New versions of a model: when one is due, how it is fitted, and what it would change."""

import hashlib
import shutil
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.artifacts import MANIFEST
from caps.errors import InputError
from caps.estimator import CAPS
from caps.events import AlarmChange, FeedbackBook, changed_alarms
from caps.planned import Planned
from caps.replacing import replacing_folder
from caps.scoring import KIND, FitOptions
from caps.series import Series, write_moment
from caps.store import KEEP, Store, Version
from caps.stream import DriftWatch

if TYPE_CHECKING:
    from caps.scoring import FitProgress


@dataclass(frozen=True, slots=True)
class Refit:
    """A new version beside the one in force, and the alarms that it would change."""

    version: Version
    change: AlarmChange | None  # None for the first version
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Judging:
    """What decides on the alarms that are compared, beside the models themselves."""

    alarms: str | None = None  # another budget than the models'
    planned: Planned | None = None
    series: str = ""  # whose planned events count

    def applied(self, model: CAPS) -> CAPS:
        """The model judged so; it stays as it is."""
        judged = copy(model)
        if self.alarms is not None:
            judged.set_alarms(self.alarms)
        return judged if self.planned is None else judged.set_planned(self.planned, self.series)


def versions_of(folder: Path) -> Store:
    """The versions in a folder; a model that is there becomes the first of them."""
    if Store.is_at(folder):
        return Store(folder)
    model = CAPS.load(folder)
    made = datetime.fromtimestamp((folder / MANIFEST).stat().st_mtime, UTC)
    learned = model.learned_
    last = model.fitted_.training_time(len(learned) - 1)
    with replacing_folder(folder, kind=KIND) as place:
        store = Store.create(place)
        store.add(
            partial(shutil.copytree, folder),
            when=made.isoformat(timespec="seconds").replace("+00:00", "Z"),
            why="first",
            source="the model that was here",
            rows=learned.rows,
            start=None,
            end=None if last is None else write_moment(last, "s", separator="T"),
            learned=learned.part,
            data="",
        )
        store.set_feedback(model.feedback_)
    return Store(folder)


def reason_to_refit(
    store: Store,
    series: Series,
    *,
    every: np.timedelta64 | None = None,
    on_drift: bool = False,
    now: datetime | None = None,
) -> str | None:
    """Why a refit is due: by the time since the newest version, or by drift; None if it is not.

    Without either condition one that is asked for is due.
    """
    if not store.facts.versions:
        return "first"
    if every is None and not on_drift:
        return "asked for"
    newest = store.facts.versions[-1]
    if every is not None:
        made = datetime.fromisoformat(newest.made)
        if np.timedelta64((now or datetime.now(UTC)) - made) >= every:
            return "schedule"
    if on_drift and drifted(CAPS.load(store.folder), series, since=store.current.end):
        return "drift"
    return None


def drifted(model: CAPS, series: Series, since: str | None = None) -> bool:
    """Whether the scores of the rows after `since` no longer look like those of calibration."""
    analysis = model.analyze(series)
    p_values = analysis.p_value
    if since is not None and analysis.series.time is not None:
        p_values = p_values[analysis.series.time > np.datetime64(since)]
    return DriftWatch(model.fitted_.calibration).watch(p_values)


def refit(
    store: Store,
    series: Series,
    options: FitOptions | None = None,
    *,
    source: str = "rows",
    why: str = "asked for",
    promote: bool = False,
    keep: int = KEEP,
    judging: Judging | None = None,
    progress: "FitProgress | None" = None,
) -> Refit:
    """Fit another version and compare it with the one in force on the recent past.

    With the options of the one in force where none are given, on all rows. What people confirmed
    as incidents is kept out of training and selects the modes of a detector. It takes over only
    if `promote` says so; the first version does in any case.
    """
    first = not store.facts.versions
    old = None if first else CAPS.load(store.folder)
    if options is None:
        options = FitOptions() if old is None else FitOptions(**old.get_params(deep=False))
        options = FitOptions(**options.parameters() | {"train": "all"})
    model = CAPS(**options.parameters())
    model.fit(series, known_anomalies=confirmed_spans(store.feedback, series), progress=progress)
    change = None
    if old is not None:
        judged = (judging or Judging()).applied
        new = copy(model).set_feedback(old.feedback_)  # which is kept beside the versions
        change = compare(judged(old), judged(new), series)
    made = store.add(model.save, why=why, source=source, **fitted_on(model, series))
    if promote and not first:
        store.promote(made.name, why=why, change=None if change is None else change.to_dict())
    return Refit(made, change, tuple(store.prune(keep)))


def compare(old: CAPS, new: CAPS, series: Series) -> AlarmChange:
    """The alarms of the last month that one version has and the other lacks."""
    if old.fitted_.names != new.fitted_.names:
        raise InputError(
            f"versions of other channels: {', '.join(old.fitted_.names)} and "
            f"{', '.join(new.fitted_.names)}",
            "compare versions of the same channels",
        )
    return changed_alarms(old.analyze(series), new.analyze(series))


def confirmed_spans(book: FeedbackBook, series: Series) -> list[tuple[int, int]]:
    """Rows of the series that lie within incidents that people confirmed, and did not revoke."""
    if series.time is None:
        return []
    spans = []
    for each in book.active:
        if each.verdict == "incident" and each.start is not None and each.end is not None:
            first = int(np.searchsorted(series.time, np.datetime64(each.start)))
            last = int(np.searchsorted(series.time, np.datetime64(each.end), side="right"))
            if last > first:
                spans.append((first, last))
    return spans


def fitted_on(model: CAPS, series: Series) -> dict[str, Any]:
    """What a version says of the rows that it was fitted on."""
    digest, start, end = hashlib.sha256(), None, None
    if series.time is not None:
        digest.update(series.time.astype("datetime64[ns]").astype("<i8").tobytes())
        start, end = (write_moment(series.time[row], "s", separator="T") for row in (0, -1))
    digest.update(np.ascontiguousarray(series.values, dtype="<f8").tobytes())
    return {
        "rows": len(series),
        "start": start,
        "end": end,
        "learned": model.learned_.part,
        "data": digest.hexdigest(),
    }
