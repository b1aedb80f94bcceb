"""Options that commands share, all of `FitOptions` and `ReadOptions`, and how a command answers."""

import inspect
import json
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from caps.errors import InputError

READING = "Reading the file"  # title of its options in --help
Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(name="--json", help="Print JSON instead of text.")]
Model = Annotated[Path, Parameter(help="Folder written by `caps fit` or `caps detect`.")]
Budget = Annotated[str | None, Parameter(help="Another alarm budget than the model's.")]
PlannedFile = Annotated[
    Path | None,
    Parameter(help="File of planned events, TOML or JSON: what happens in them is no alarm."),
]
TimeColumn = Annotated[str | None, Parameter(help="Time column; recognised if left out.")]
Bands = Annotated[
    Flag,
    Parameter(
        help="Also write what was expected of each metric, and the range that counts as normal."
    ),
]
Engine = Annotated[
    Literal["local", "ray"],
    Parameter(help='local: processes on this machine. ray: tasks of a Ray cluster (extra "ray").'),
]
Known = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        help="A span START..END that is known to be anomalous, rows or moments; can be repeated.",
    ),
]
Queries = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        help="PromQL whose results are the series; NAME=PROMQL, repeated, gives each series as many"
        " channels.",
    ),
]
Step = Annotated[str | None, Parameter(help="Time between rows of a query, such as 1m or 30s.")]
NAMED = re.compile(r"([A-Za-z_]\w*)=(?![=~])(.+)", re.DOTALL)


def group(name: str, help: str) -> App:
    """A command that has commands of its own."""
    told = "Each command takes --json."
    return App(name=name, help=help, help_epilogue=told, help_format="plaintext")


def answer(facts: Any, json_output: bool, *lines: str) -> None:
    """Print the outcome: the facts as JSON, or lines of text."""
    print(json.dumps(facts, indent=2) if json_output else "\n".join(lines))


def secret_in(path: Path | None, variable: str) -> str | None:
    """The secret in the first line of a file, else that in an environment variable, if any."""
    if path is None:
        return os.environ.get(variable) or None
    from caps.watch import read_secret  # a tenth of a second, for a secret in a file

    return read_secret(path)


def names_in(text: str, example: str) -> list[str]:
    """The names in a comma-separated option, which is used as in `example`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        option = example.split()[0]
        raise InputError(f"{option} {text!r} names nothing", f"give names like {example}")
    return names


def queries_in(texts: tuple[str, ...]) -> dict[str, str]:
    """PromQL by channel; one query without a name is the channel `value`.

    >>> queries_in(("cpu=rate(cpu[5m])", "memory=free / total"))
    {'cpu': 'rate(cpu[5m])', 'memory': 'free / total'}
    >>> queries_in(("up == 1",))
    {'value': 'up == 1'}
    """
    found = []
    for text in texts:
        match = NAMED.fullmatch(text)
        found.append(("value", text) if match is None else (match[1], match[2]))
    if not found or len({name for name, _ in found}) < len(found):
        raise InputError(
            "two queries have one name" if found else "there is no query",
            "give --query PROMQL, or --query NAME=PROMQL for each channel",
        )
    return dict(found)


def spans_in(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """The spans in options like 2024-03-01..2024-03-02 or 500..620.

    >>> spans_in(("500..620",))
    [('500', '620')]
    """
    spans = []
    for text in texts:
        start, dots, end = (part.strip() for part in text.partition(".."))
        if not (start and dots and end):
            raise InputError(f"--known {text!r} is no span", "write START..END, rows or moments")
        spans.append((start, end))
    return spans


def takes_fit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that wants `options: FitOptions` take every one of them by its name."""
    # numpy: a fifth of a second, and `caps serve` sets the number of its threads before that
    from caps.scoring import OPTIONS, FitOptions

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in OPTIONS if name in given}
        for name, option in OPTIONS.items():
            if given.pop(f"no_{name}", False):
                chosen[name] = option.off_value
            elif option.on and name in chosen:
                chosen[name] = option.on_value if chosen[name] else option.default
        if chosen.get("columns") is not None:
            chosen["columns"] = names_in(chosen["columns"], "--columns cpu,load")
        command(*arguments, options=FitOptions(**chosen), **given)

    offered = []
    for name, option in OPTIONS.items():
        if option.off:
            offered.append(_keyword(f"no_{name}", bool, False, help=option.off))
        elif option.on:
            offered.append(_keyword(name, bool, False, help=option.on))
        elif option.given is not None:
            offered.append(_keyword(name, option.given, option.default, help=option.help))
    return _offering(run, command, "options", offered)


def takes_read_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command that wants `reading: ReadOptions` take these by their names; all if none.

    One that takes the options of a fit finds them there, in `options.reading`. With all of them
    comes `--no-time`, which calls the command with `time=False`.
    """
    # a tenth of a second that `caps --help` does without
    from caps.series import READ_OPTIONS, ReadOptions

    offered = [
        _keyword(
            name,
            option.given,
            None if name == "exclude" else option.default,
            help=option.help,
            group=READING,
            negative=None if name == "header" else "",
        )
        for name, option in READ_OPTIONS.items()
        if name in (names or READ_OPTIONS)
    ]
    if not names:
        no_time = "Take no column for the time: rows are equal steps."
        offered.append(_keyword("no_time", bool, False, help=no_time, group=READING))

    def taking(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: Any, **given: Any) -> None:
            chosen = {name: given.pop(name) for name in READ_OPTIONS if name in given}
            if chosen.get("exclude") is not None:
                chosen["exclude"] = tuple(names_in(chosen["exclude"], "--exclude host,rack"))
            if given.pop("no_time", False):
                if given.get("time") is not None:
                    raise InputError("--time and --no-time at once", "give one of them")
                given["time"] = False
            command(*arguments, reading=ReadOptions(**chosen), **given)

        return _offering(run, command, "reading", offered)

    return taking


def _offering(
    run: Callable[..., None],
    command: Callable[..., None],
    wanted: str,
    offered: list[inspect.Parameter],
) -> Callable[..., None]:
    """`run`, seen as `command` with `offered` in place of `wanted`, or at the end."""
    own = inspect.signature(command).parameters
    parameters = [
        each for one in own.values() for each in (offered if one.name == wanted else [one])
    ]
    if wanted not in own:
        parameters += offered
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _keyword(name: str, kind: Any, default: Any, **shown: Any) -> inspect.Parameter:
    annotation: Any = Annotated[kind, Parameter(**{"negative": "", **shown})]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
