"""New versions of a model: when one is due, how it is fitted, and what it would change."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.errors import InputError
from caps.estimator import CAPS
from caps.events import AlarmChange, changed_alarms
from caps.scoring import FitOptions
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
        made = datetime.fromisoformat(newest.made.replace("Z", "+00:00"))
        past = np.timedelta64((now or datetime.now(UTC)) - made)
        if past >= every:
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
    model.fit(series, known_anomalies=confirmed_spans(store, series), progress=progress)
    change = None
    if old is not None:
        model.set_feedback(old.feedback_)
        change = compare(old, model, series)
        model.set_feedback(type(old.feedback_)())  # kept beside the versions
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


def confirmed_spans(store: Store, series: Series) -> list[tuple[int, int]]:
    """Rows of the series that lie within confirmed incidents."""
    if series.time is None:
        return []
    spans = []
    for each in store.feedback.active:
        if each.verdict == "incident" and each.start is not None and each.end is not None:
            first = int(np.searchsorted(series.time, np.datetime64(each.start)))
            last = int(np.searchsorted(series.time, np.datetime64(each.end), side="right"))
            if last > first:
                spans.append((first, last))
    return spans


def fitted_on(model: CAPS, series: Series) -> dict[str, Any]:
    """What a version says of the rows that it was fitted on."""
    digest = hashlib.sha256()
    if series.time is not None:
        digest.update(series.time.astype("datetime64[ns]").astype("<i8").tobytes())
    digest.update(np.ascontiguousarray(series.values, dtype="<f8").tobytes())
    times: list[str | None] = [None, None]
    if series.time is not None:
        times = [write_moment(series.time[row], "s", separator="T") for row in (0, -1)]
    return {
        "rows": len(series),
        "start": times[0],
        "end": times[1],
        "learned": model.learned_.part,
        "data": digest.hexdigest(),
    }
