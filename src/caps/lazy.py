"""Names of a package that are imported when they are first used.

So that a package can be one interface although half of it needs torch: a saved model is scored, and
the command line starts, without importing what they do not use. Its root names each of them once,
as `from caps.series.series import Series as Series` under TYPE_CHECKING, which type checkers read
as an interface; all of them are its `__all__`.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def on_first_use(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose root imports its names under TYPE_CHECKING alone."""

    def find(name: str) -> Any:
        home = homes(package).get(name)
        if home is not None:
            return getattr(import_module(home), name)
        if name == "__all__":
            return sorted(homes(package))
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


@cache
def homes(package: str) -> dict[str, str]:
    """The modules that a package's root imports its names from, read from its source."""
    import ast  # 0.01 s, half of `import caps`

    with open(str(sys.modules[package].__file__), encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return {
        alias.name: str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
