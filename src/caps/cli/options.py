"""The options of a fit as options of a command: names, types, defaults and help of `FitOptions`."""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any

from cyclopts import Parameter

from caps.errors import InputError
from caps.scoring import OPTIONS, FitOptions


def names_in(text: str, example: str) -> list[str]:
    """The names in a comma-separated option, which is used as in `example`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        option = example.split()[0]
        raise InputError(f"{option} {text!r} names nothing", f"give names like {example}")
    return names


def takes_fit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that wants `options: FitOptions` take every one of them by its name."""

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in OPTIONS if name in given}
        chosen |= {name: None for name in OPTIONS if given.pop(f"no_{name}", False)}
        if chosen.get("columns") is not None:
            chosen["columns"] = names_in(chosen["columns"], "--columns cpu,load")
        command(*arguments, options=FitOptions(**chosen), **given)

    own = inspect.signature(command).parameters.values()
    parameters = [
        each for one in own for each in (_parameters() if one.name == "options" else [one])
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters() -> Iterator[inspect.Parameter]:
    for name, option in OPTIONS.items():
        if option.off:
            yield _keyword(f"no_{name}", bool, False, option.off)
        elif option.given is not None:
            yield _keyword(name, option.given, option.default, option.help)


def _keyword(name: str, kind: Any, default: Any, help: str) -> inspect.Parameter:
    shown: Any = Annotated[kind, Parameter(negative="", help=help)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown
    )
