"""The constants behind a method that are no settings of it, read from the modules it reaches.

What CAPS scores by is in configurations, which are settings. The generator, the making of pairs,
the series, the metrics and the baselines still have constants of modules and defaults of functions.
Those of all modules that a method can reach by imports count: too many rather than too few, since a
result computed again in vain costs minutes and a stale one a wrong figure.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from caps.bench.facts import fact

EVALUATION = "caps.bench.execution"  # splits, known anomalies and metrics: part of every result
# Rooms whose numbers are in configurations: passed through, their own constants do not count.
CONFIGURED = ("caps.estimator", "caps.events", "caps.neighbours", "caps.network", "caps.scoring")
# What shows, stores, streams or reads files enters no score of an array, and tables of methods
# hold what counts as a setting of the method already.
OUTSIDE = (
    "caps.artifacts",
    "caps.baselines.methods",
    "caps.bench.cells",
    "caps.bench.methods",
    "caps.bench.settings",
    "caps.jobs",
    "caps.plots",
    "caps.stream",
    "caps.inspection",
    "caps.series.files",
    "caps.series.reading",
    "caps.series.timestamps",
)


def scoring_constants(method: object) -> dict[str, dict[str, Any]]:
    """The constants behind the scores of a method, by module and name, as JSON values."""
    first = {EVALUATION, type(method).__module__}
    first |= {base.__module__ for base in type(method).__mro__ if _is_ours(base.__module__)}
    first |= set(_made_by(vars(method) if hasattr(method, "__dict__") else {}))
    return constants_behind(*first)


def constants_behind(*modules: str) -> dict[str, dict[str, Any]]:
    """The constants of these modules and of all of CAPS that they import."""
    return {
        name: _constants(import_module(name))
        for name in _reached(frozenset(modules))
        if not name.startswith(CONFIGURED)
    }


@cache
def _reached(modules: frozenset[str]) -> tuple[str, ...]:
    found, waiting = set[str](), sorted(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and (name in modules or not name.startswith(OUTSIDE)):
            found.add(name)
            waiting += _imports(name)
    return tuple(sorted(found))


@cache
def _imports(module: str) -> tuple[str, ...]:
    """The modules of CAPS that one imports, at its top or while it runs; not those for types."""
    source = getattr(import_module(module), "__file__", None)
    if source is None:
        return ()
    names: list[str] = []
    waiting: list[ast.AST] = [ast.parse(Path(source).read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names if _is_ours(each.name)]
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            names += [_home(str(node.module), each.name) for each in node.names]
    return tuple(names)


def _home(module: str, name: str) -> str:
    """Where a name imported from a module lives: packages pass names on."""
    owner = import_module(module)
    if hasattr(owner, "__path__") and find_spec(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    home = getattr(getattr(owner, name), "__module__", None) or module
    return home if _is_ours(home) else module


def _constants(module: ModuleType) -> dict[str, Any]:
    """Upper-case names, and the defaults of functions, methods and fields of dataclasses."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.isupper():
            found[name] = fact(value)
        elif getattr(value, "__module__", None) != module.__name__:
            continue
        elif isinstance(value, FunctionType):
            found[name] = _defaults(value)
        elif isinstance(value, type):  # fields are arguments of __init__
            found[name] = {
                key: _defaults(each)
                for key, each in vars(value).items()
                if isinstance(each, FunctionType)
            }
    return found


def _defaults(function: FunctionType) -> list[Any]:
    return [fact(function.__defaults__ or ()), fact(function.__kwdefaults__ or {})]


def _made_by(value: Any) -> Iterator[str]:
    """Modules of what functions among the settings name, like `lambda seed: Density(50)`."""
    if isinstance(value, FunctionType):
        for name in value.__code__.co_names:
            home = getattr(value.__globals__.get(name), "__module__", None) or ""
            if _is_ours(home):
                yield home
    elif isinstance(value, dict):
        for each in value.values():
            yield from _made_by(each)
    elif hasattr(type(value), "__dataclass_fields__"):
        for name in type(value).__dataclass_fields__:
            yield from _made_by(getattr(value, name))


def _is_ours(module: str) -> bool:
    return module.startswith("caps.")
