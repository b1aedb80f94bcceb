"""The code behind a method: any other number or formula in it makes other results.

What counts is the method's own modules, the evaluation, and of CAPS all that they import, read as
files and without comments and docstrings: too much rather than too little, since a result computed
again in vain costs minutes and a stale one a wrong figure.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

ROOT = Path(__file__).parents[1]
EVALUATION = "caps.bench.execution"  # splits, known anomalies and metrics: part of every result
# What shows, stores, streams or reads files enters no score of an array, and tables of methods
# hold what counts as a setting of the method already.
OUTSIDE = re.compile(
    r"caps\.(artifacts|baselines\.methods|baselines|bench\.(cells|methods|settings)|cli"
    r"|fitted_model|inspection|jobs|json_text|lazy|plots|replacing|stream)$"
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
IMPORTED = re.compile(r"^ *from (caps\.[\w.]+) import", re.MULTILINE)


def code_behind(method: object) -> dict[str, str]:
    """The hash of every file whose code can enter the scores of a method, by its path."""
    settings = vars(method) if hasattr(method, "__dict__") else {}
    modules = {base.__module__ for base in type(method).__mro__} | set(_made_by(settings))
    return code_of(EVALUATION, *modules)


def code_of(*modules: str) -> dict[str, str]:
    """The hash of every file of these modules and of all of CAPS that they import, by its path."""
    found, seen, waiting = dict[str, str](), set[str](), list(modules)
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith("caps.") or OUTSIDE.match(name):
            continue
        seen.add(name)
        place = ROOT.joinpath(*name.split(".")[1:])
        for file in sorted(place.rglob("*.py")) or [place.with_suffix(".py")]:
            text = file.read_text(encoding="utf-8")
            found[str(file.relative_to(ROOT))] = _code_hash(text)
            waiting += IMPORTED.findall(text)
    return found


@cache
def _code_hash(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _made_by(value: Any) -> Iterator[str]:
    """Modules of what functions among the settings name, such as the detectors of a plan."""
    if isinstance(value, FunctionType):
        for name in value.__code__.co_names:
            yield getattr(value.__globals__.get(name), "__module__", None) or ""
    elif isinstance(value, dict):
        for each in value.values():
            yield from _made_by(each)
    elif hasattr(type(value), "__dataclass_fields__"):
        for name in type(value).__dataclass_fields__:
            yield from _made_by(getattr(value, name))
