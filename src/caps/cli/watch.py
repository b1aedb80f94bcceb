"""`caps watch`: follow a growing file or standard input and tell events as they happen."""

import json
import signal
import sys
from copy import copy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from caps.cli.options import Budget, Flag, PlannedFile, takes_read_options
from caps.errors import CapsError, InputError
from caps.series import ReadOptions

if TYPE_CHECKING:
    import numpy as np

    from caps.estimator import CAPS
    from caps.watch import ModelOf

# What is counted of the input and is worth a word.
ODD = (
    "missing", "out_of_order", "late", "duplicate", "ahead", "off_grid", "gaps", "held",
    "malformed", "unknown",
)  # fmt: skip


@takes_read_options("unit", "time_format", "timezone", "decimal", "thousands")
def watch(
    model: Path,
    *,
    input: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-",
    follow: Flag = False,
    time: str | None = None,
    id: str | None = None,
    reading: ReadOptions,
    alarms: Budget = None,
    lateness: int = 0,
    recovery: str | None = None,
    state: Path | None = None,
    save_every: float = 60.0,
    webhook: str | None = None,
    planned: PlannedFile = None,
    updates: Flag = False,
    json_output: Annotated[Flag, Parameter(name="--json")] = False,
) -> None:
    """Follow rows as they come and print events as NDJSON.

    Args:
        model: Folder written by `caps fit --causal`; with --id also a folder of such folders, each
            named by a series id.
        input: CSV with a header, or NDJSON: a file, or - for standard input.
        follow: Wait for more at the end of the file, until SIGTERM or Ctrl-C.
        time: Time column; recognised by its name if left out.
        id: Column that tells several series apart.
        lateness: Steps that a row waits for rows that should have come before it.
        recovery: Events closer than this are one incident and one alert: a time such as 6h, or a
            number of rows. If left out, every event is an incident, over after a quiet as long as
            the event.
        state: Folder to save to and to go on from.
        save_every: Seconds between saves when nothing happens.
        webhook: Address that gets a POST when an incident begins, when it is over, and on drift.
        planned: File of planned events; it is read again when it changes, as is feedback.
        updates: Print a line for every row that extends an event, too.
        json_output: Print the counts at the end as a last line of JSON instead of text.
    """
    if save_every < 0:
        raise InputError("--save-every is below 0", "give 0 or more")
    quiet_time = _recovery(recovery)
    # a second that --help does without
    from caps.watch import Lines, Watcher, WatchState, Webhook, WrittenRecords

    files = Followed()
    one, model_of = _models(model, files, planned, several=id is not None, alarms=alarms)
    fitted = one.fitted_
    named = time if time is not None else one.time
    watcher = Watcher(
        model_of,
        Lines(None if input == "-" else Path(input), follow=follow),
        WrittenRecords(
            fitted.names,
            reading=reading.over(one.reading),
            time=named if isinstance(named, str) else None,
            series=id,
            timed=fitted.step is not None,
        ),
        lambda line: print(line, flush=True),
        webhook=None if webhook is None else Webhook(webhook),
        state=None if state is None else WatchState(state),
        lateness=lateness,
        recovery=quiet_time,
        updates=updates,
        save_every=save_every,
        changed=files.changed,
    )
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: asked.append(number))
    summary = watcher.run(lambda: bool(asked))
    if json_output:
        print(json.dumps(summary))
    else:
        print(_sentence(summary), file=sys.stderr)
    _check(summary, kept=state is not None)


def _recovery(text: str | None) -> "int | np.timedelta64 | None":
    # half a second that --help does without
    import numpy as np
    import pandas as pd

    if text is None or text.isdecimal():
        return None if text is None else int(text)
    try:
        found = np.timedelta64(pd.Timedelta(text).value, "ns")
    except ValueError:
        found = np.timedelta64("NaT")
    if not found >= np.timedelta64(0, "ns"):
        raise InputError(
            f"--recovery {text!r} is no time to wait", "give 0 or more rows, or a time such as 6h"
        )
    return found


def _check(summary: dict[str, Any], *, kept: bool) -> None:
    """End with an error if the watch did not do its work."""
    for name, channels in summary["silent"].items():
        of = f" of {name!r}" if name else ""
        print(f"no values of {', '.join(channels)}{of} at the end", file=sys.stderr)
    hook = summary.get("webhook", {})
    failed = {what: hook[what] for what in ("undelivered", "refused", "dropped") if hook.get(what)}
    if failed:
        counts = ", ".join(f"{count} {what}" for what, count in failed.items())
        again = kept and set(failed) == {"undelivered"}
        raise CapsError(
            f"not all alerts arrived: {counts}",
            "watch again with the same --state to send them, and see that the receiver answers"
            if again
            else "read them in the output; with --state what was not delivered is sent again",
        )
    if summary["lines"] and not summary["usable"]:
        raise CapsError(
            f"none of {summary['lines']} lines could be scored",
            "see that the input has the time, the ids and the channels of the model",
        )


class Followed:
    """Files that say what a model is and what is no alarm, and whether they were changed."""

    def __init__(self) -> None:
        self.times: dict[Path, int] = {}

    def follow(self, *paths: Path) -> None:
        """Look after some more."""
        self.times |= {path: _changed_at(path) for path in paths if path not in self.times}

    def changed(self) -> bool:
        """Whether one was changed since the last time."""
        new = {path: _changed_at(path) for path in self.times}
        old, self.times = self.times, new
        return new != old


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # there is none, or it is just being replaced
        return 0


def _models(
    folder: Path, files: Followed, planned: Path | None, *, several: bool, alarms: str | None
) -> "tuple[CAPS, ModelOf]":
    """Any of the models, and the one for a series id, as they are now."""
    from caps.estimator import CAPS  # a second that --help does without

    @cache
    def loaded(path: Path, *changed_at: int) -> CAPS:
        found = CAPS.load(path)
        return found if alarms is None else found.set_alarms(alarms)

    def load(path: Path, name: str = "") -> CAPS:
        told = [path / each for each in ("manifest.json", "feedback.json")]
        files.follow(*told, *([] if planned is None else [planned]))
        found = copy(loaded(path, *map(_changed_at, told)))
        return found if planned is None else found.set_planned(planned, name)

    if (folder / "manifest.json").is_file() or not several:
        return load(folder), lambda name: load(folder, name)
    known = {path.parent.name: path.parent for path in sorted(folder.glob("*/manifest.json"))}
    if not known:
        raise InputError(f"{folder} holds no model", "name a model, or a folder of models by id")
    first = next(iter(known.values()))
    # Looked up among the names found, so that no id leads out of the folder.
    return load(first), lambda name: load(known[name], name) if name in known else None


def _sentence(summary: dict[str, Any]) -> str:
    remarks = [f"{summary[name]} {name.replace('_', ' ')}" for name in ODD if summary[name]]
    text = f"{summary['rows']} rows, {summary['events']} events, {summary['incidents']} incidents"
    text += f" ({', '.join(remarks)})" if remarks else ""
    return text + ("; drift: fit again" if summary["drift"] else "")
