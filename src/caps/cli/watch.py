"""`caps watch`: follow a growing file or standard input and tell events as they happen."""

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from caps.cli.results import quiet_threads
from caps.errors import InputError

if TYPE_CHECKING:
    from caps.detect import CAPS
    from caps.watch.watcher import ModelOf


def watch(
    model: Path,
    *,
    input: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-",
    follow: Annotated[bool, Parameter(negative="")] = False,
    time: str | None = None,
    id: str | None = None,
    alarms: str | None = None,
    lateness: int = 0,
    recovery: int = 128,
    state: Path | None = None,
    save_every: float = 60.0,
    webhook: str | None = None,
    updates: Annotated[bool, Parameter(negative="")] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Follow rows as they come and print events as NDJSON.

    Parameters
    ----------
    model
        Folder written by `caps fit --causal`; with --id also a folder of such folders, each named
        by a series id.
    input
        CSV with a header, or NDJSON: a file, or - for standard input.
    follow
        Wait for more at the end of the file, until SIGTERM or Ctrl-C.
    time
        Time column; recognised by its name if left out.
    id
        Column that tells several series apart.
    alarms
        Another alarm budget than the model's.
    lateness
        Steps that a row waits for rows that should have come before it.
    recovery
        Rows without an event after which an incident is over; until then it is one alert.
    state
        Folder to save to and to go on from.
    save_every
        Seconds between saves when nothing happens.
    webhook
        Address that gets a POST when an incident begins, when it is over, and on drift.
    updates
        Print a line for every row that extends an event, too.
    json_output
        Print the counts at the end as a last line of JSON instead of text.
    """
    if recovery < 0 or save_every < 0:
        raise InputError("--recovery and --save-every are below 0", "give 0 or more")
    quiet_threads()
    from caps.watch import Lines, Records, Watcher, WatchState, Webhook

    one, model_of = _models(model, several=id is not None, alarms=alarms)
    fitted = one.fitted_
    named = time if time is not None else one.time
    watcher = Watcher(
        model_of,
        Lines(None if input == "-" else Path(input), follow=follow),
        Records(
            fitted.names,
            time=named if isinstance(named, str) else None,
            series=id,
            timed=fitted.step is not None,
        ),
        lambda line: print(line, flush=True),
        webhook=None if webhook is None else Webhook(webhook),
        state=None if state is None else WatchState(state),
        lateness=lateness,
        recovery=recovery,
        updates=updates,
        save_every=save_every,
    )
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: asked.append(number))
    summary = watcher.run(lambda: bool(asked))
    if json_output:
        print(json.dumps(summary))
    else:
        print(_sentence(summary), file=sys.stderr)
    if watcher.records.complaint is not None:
        print(f"the first malformed line: {watcher.records.complaint}", file=sys.stderr)


def _models(folder: Path, *, several: bool, alarms: str | None) -> "tuple[CAPS, ModelOf]":
    """Any of the models, and the one for a series id."""
    from caps.detect import CAPS

    loaded: dict[str, CAPS | None] = {}

    def load(path: Path) -> CAPS:
        found = CAPS.load(path)
        return found if alarms is None else found.set_alarms(alarms)

    if (folder / "manifest.json").is_file() or not several:
        only = load(folder)
        return only, lambda name: only
    known = {path.parent.name: path.parent for path in sorted(folder.glob("*/manifest.json"))}
    if not known:
        raise InputError(f"{folder} holds no model", "name a model, or a folder of models by id")

    def model_of(name: str) -> CAPS | None:
        # Looked up among the names found, so that no id leads out of the folder.
        if name not in loaded:
            loaded[name] = load(known[name]) if name in known else None
        return loaded[name]

    first = model_of(next(iter(known)))
    assert first is not None
    return first, model_of


def _sentence(summary: dict[str, Any]) -> str:
    odd = ("missing", "out_of_order", "late", "duplicate", "ahead", "off_grid", "gaps")
    remarks = [f"{summary[name]} {name.replace('_', ' ')}" for name in odd if summary[name]]
    remarks += [f"{summary[name]} {name}" for name in ("malformed", "unknown") if summary[name]]
    text = f"{summary['rows']} rows, {summary['events']} events, {summary['incidents']} incidents"
    text += f" ({', '.join(remarks)})" if remarks else ""
    return text + ("; drift: fit again" if summary["drift"] else "")
