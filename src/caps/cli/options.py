"""Options that commands share, those of `FitOptions` among them, and how a command answers."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from caps.errors import InputError

Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(name="--json", help="Print JSON instead of text.")]
Model = Annotated[Path, Parameter(help="Folder written by `caps fit` or `caps detect`.")]
Budget = Annotated[str | None, Parameter(help="Another alarm budget than the model's.")]
TimeColumn = Annotated[str | None, Parameter(help="Time column; recognised if left out.")]
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


def answer(facts: Any, json_output: bool, *lines: str) -> None:
    """Print the outcome: the facts as JSON, or lines of text."""
    print(json.dumps(facts, indent=2) if json_output else "\n".join(lines))


def names_in(text: str, example: str) -> list[str]:
    """The names in a comma-separated option, which is used as in `example`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        option = example.split()[0]
        raise InputError(f"{option} {text!r} names nothing", f"give names like {example}")
    return names


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
    # Here: it imports numpy, and `caps serve` sets the number of its threads before that.
    from caps.scoring import OPTIONS, FitOptions

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in OPTIONS if name in given}
        chosen |= {name: None for name in OPTIONS if given.pop(f"no_{name}", False)}
        if chosen.get("columns") is not None:
            chosen["columns"] = names_in(chosen["columns"], "--columns cpu,load")
        command(*arguments, options=FitOptions(**chosen), **given)

    offered = [
        _keyword(f"no_{name}", bool, False, option.off)
        if option.off
        else _keyword(name, option.given, option.default, option.help)
        for name, option in OPTIONS.items()
        if option.off or option.given is not None
    ]
    own = inspect.signature(command).parameters.values()
    parameters = [each for one in own for each in (offered if one.name == "options" else [one])]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _keyword(name: str, kind: Any, default: Any, help: str) -> inspect.Parameter:
    shown: Any = Annotated[kind, Parameter(negative="", help=help)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown
    )
