"""`caps watch`: follow a growing file or standard input and tell events as they happen."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from caps.cli.options import (
    Budget,
    Flag,
    PlannedFile,
    Queries,
    Step,
    queries_in,
    secret_in,
    takes_read_options,
)
from caps.errors import CapsError, InputError
from caps.series import ReadOptions

if TYPE_CHECKING:
    import numpy as np

    from caps.fitted_model import FittedModel
    from caps.watch import Followed, ModelOf

# What is counted and worth a word.
ODD = (
    "missing", "out_of_order", "late", "duplicate", "ahead", "off_grid", "gaps", "held",
    "malformed", "unknown", "silenced",
)  # fmt: skip


SECRET = "CAPS_WEBHOOK_SECRET"


@takes_read_options("unit", "time_format", "timezone", "decimal", "thousands")
def watch(
    model: Path | None = None,
    *,
    input: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    follow: Flag = False,
    time: str | None = None,
    id: str | None = None,
    reading: ReadOptions,
    prometheus: str | None = None,
    query: Queries = (),
    step: Step = None,
    since: str | None = None,
    alarms: Budget = None,
    lateness: int = 0,
    recovery: str | None = None,
    no_data: str | None = None,
    state: Path | None = None,
    save_every: float = 60.0,
    webhook: str | None = None,
    secret_file: Path | None = None,
    alertmanager: str | None = None,
    slack: str | None = None,
    listen: str | None = None,
    planned: PlannedFile = None,
    config: Path | None = None,
    updates: Flag = False,
    json_output: Annotated[Flag, Parameter(name="--json")] = False,
) -> None:
    """Follow rows as they come and print events as NDJSON.

    Args:
        model: Folder written by `caps fit --causal`, or a file written by `caps export`; with --id
            or --prometheus also a folder of them, each named by a series id.
        input: CSV with a header, or NDJSON: a file, or - for standard input, which is read if
            nothing else is named.
        follow: Wait for more at the end of the file, until SIGTERM or Ctrl-C.
        time: Time column; recognised by its name if left out.
        id: Column that tells several series apart.
        since: How far before now a watch of Prometheus without a state begins, such as 6h; now if
            left out.
        lateness: Steps that a row waits for rows that should have come before it.
        recovery: Events closer than this are one incident and one alert: a time such as 6h, or a
            number of rows. If left out, every event is an incident, over after a quiet as long as
            the event.
        no_data: Time, or steps of Prometheus, without a row after which a series has stopped, and
            without an answer after which a source is down. Five steps of Prometheus if left out.
        state: Folder to save to and to go on from.
        save_every: Seconds between saves when nothing happens.
        webhook: Address that gets a POST when an incident begins, when it is over, and on drift.
        secret_file: File whose first line signs what the webhook gets; else the environment
            variable CAPS_WEBHOOK_SECRET.
        alertmanager: Address of an Alertmanager, such as http://localhost:9093.
        slack: Address of a Slack incoming webhook.
        listen: Address that serves metrics and health, such as 127.0.0.1:9410.
        planned: File of planned events; it is read again when it changes, as is feedback.
        config: File that says all of this instead: caps.toml.
        updates: Print a line for every row that extends an event, too.
        json_output: Print the counts at the end as a last line of JSON instead of text.
    """
    if save_every < 0:
        raise InputError("--save-every is below 0", "give 0 or more")
    quiet_time = _recovery(recovery)
    # half a second that --help does without
    from caps.watch import (
        SinkConfig,
        SourceConfig,
        Watch,
        WatchConfig,
        listen_address,
        read_config,
        rows_or_seconds,
        seconds_in,
    )

    if config is not None:
        addresses = (prometheus, webhook, alertmanager, slack, listen)
        others = (model, input, *addresses, state, alarms, planned)
        if any(each is not None for each in others) or query:
            raise InputError("--config and other options at once", "say everything in the file")
        chosen = read_config(config)
    else:
        sinks = (
            SinkConfig("webhook", webhook or "", "webhook", secret_in(secret_file, SECRET)),
            SinkConfig("alertmanager", alertmanager or "", "alertmanager"),
            SinkConfig("slack", slack or "", "slack"),
        )
        if prometheus is None and (query or step or since):
            raise InputError("a query without a server", "give --prometheus URL")
        if prometheus is not None and input is not None:
            raise InputError("--input and --prometheus at once", "give one of them")
        source = (
            SourceConfig(file=input or "-", follow=follow, id=id, time=time, reading=reading)
            if prometheus is None
            else SourceConfig(
                prometheus=prometheus,
                queries=queries_in(query),
                step=seconds_in(step or "1m"),
                since=None if since is None else seconds_in(since),
            )
        )
        chosen = WatchConfig(
            models=model,
            state=state,
            listen=None if listen is None else listen_address(listen),
            save_every=save_every,
            lateness=lateness,
            recovery=quiet_time,
            no_data=None if no_data is None else rows_or_seconds(no_data),
            updates=updates,
            alarms=alarms,
            sources=(source,),
            sinks=tuple(each for each in sinks if each.url),
            planned_file=planned,
        )
    run_round = None
    if chosen.refits:
        from caps.renewal import renew_round  # half a second for others

        run_round = renew_round
    told = partial(print, flush=True)
    summary = Watch(chosen, load_models, told, run_round=run_round).run()
    if json_output:
        print(json.dumps(summary))
    else:
        print(_sentence(summary), file=sys.stderr)
    _check(summary, [each.name for each in chosen.sinks], kept=chosen.state is not None)


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


def _check(summary: dict[str, Any], sinks: list[str], *, kept: bool) -> None:
    """End with an error if the watch did not do its work."""
    for name, channels in summary["silent"].items():
        of = f" of {name!r}" if name else ""
        print(f"no values of {', '.join(channels)}{of} at the end", file=sys.stderr)
    failed = {
        what: count
        for what in ("undelivered", "refused", "dropped")
        if (count := sum(summary[name][what] for name in sinks))
    }
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


def load_models(folder: Path, several: bool, files: "Followed") -> "tuple[FittedModel, ModelOf]":
    """Any of the models, and the one for a series id, as they are now."""
    from caps.estimator import CAPS  # a fifth of a second that --help does without
    from caps.fleet import file_name
    from caps.watch import changed_at

    loaded: dict[Path, tuple[list[int], FittedModel]] = {}

    def read(path: Path) -> "FittedModel":
        if path.suffix == ".onnx":
            from caps.export import OnnxModel  # half a second that other models do without

            return OnnxModel.load(path)
        return CAPS.load(path)

    def load(path: Path) -> "FittedModel":
        exported = path.suffix == ".onnx"
        told = [path] if exported else [path / "manifest.json", path / "feedback.json"]
        files.follow(*told)
        stamp = [changed_at(each) for each in told]
        if path not in loaded or loaded[path][0] != stamp:
            loaded[path] = stamp, read(path)
        return loaded[path][1]

    if (folder / "manifest.json").is_file() or folder.is_file() or not several:
        return load(folder), lambda name: load(folder)
    known = {path.parent.name: path.parent for path in sorted(folder.glob("*/manifest.json"))}
    known |= {path.stem: path for path in sorted(folder.glob("*.onnx"))}
    if not known:
        raise InputError(f"{folder} holds no model", "name a model, or a folder of models by id")

    def model_of(name: str) -> "FittedModel | None":
        # Looked up among the names found, so that no id leads out of the folder.
        path = known.get(file_name(name)) or known.get(name)
        return None if path is None else load(path)

    return load(next(iter(known.values()))), model_of


def _sentence(summary: dict[str, Any]) -> str:
    remarks = [f"{summary[name]} {name.replace('_', ' ')}" for name in ODD if summary[name]]
    text = f"{summary['rows']} rows, {summary['events']} events, {summary['incidents']} incidents"
    text += f" ({', '.join(remarks)})" if remarks else ""
    return text + ("; drift: fit again" if summary["drift"] else "")
