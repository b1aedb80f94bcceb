"""The folders show the data flow: imports point one way, in packages and between them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "caps"
SECONDS = re.compile(r"#.*(\bseconds?\b|\d s\b)")  # of a comment on a time

# Every package and what it may import from CAPS; OPEN is open to all.
OPEN = {
    "arrays",
    "artifacts",
    "configuration",
    "errors",
    "jobs",
    "json_text",
    "lazy",
    "replacing",
    "training",
}
MAY_IMPORT = {
    "arrays": set(),
    "configuration": set(),
    "errors": set(),
    "lazy": set(),
    "json_text": set(),
    "artifacts": set(),
    "jobs": set(),
    "replacing": set(),
    "training": set(),
    "series": set(),
    "metrics": set(),
    "simulate": {"series"},
    "represent": {"simulate", "series"},
    "realize": {"represent", "simulate", "series"},
    "recover": {"realize", "represent", "neighbours", "series"},
    "neighbours": {"series"},
    "network": {"recover", "series"},
    "scoring": {"neighbours", "network", "recover", "realize", "series"},
    "wording": {"scoring", "series"},
    "planned": {"series"},
    "events": {"planned", "scoring", "neighbours", "realize", "series"},
    "stream": {"scoring", "events", "series"},
    "plots": {"events", "series"},
    "inspection": {"plots", "realize", "represent", "simulate"},
    "baselines": {"network", "recover", "metrics", "series"},
    "report": {"plots", "events", "scoring", "estimator", "series", "wording"},
    "watch": {"planned", "store", "stream", "events", "scoring", "fitted_model", "series"},
    "export": {"stream", "events", "scoring", "network", "fitted_model", "estimator", "series"},
    "serve": {
        "planned",
        "refit",
        "store",
        "stream",
        "plots",
        "events",
        "scoring",
        "network",
        "estimator",
        "report",
        "series",
        "wording",
    },
    "fleet": {
        "planned",
        "plots",
        "events",
        "scoring",
        "network",
        "realize",
        "refit",
        "store",
        "estimator",
        "series",
    },
}
MAY_IMPORT["fitted_model"] = {"stream", "plots", "planned", "events", "scoring", "series"}
MAY_IMPORT["store"] = {"events"}
MAY_IMPORT["parameters"] = set()
MAY_IMPORT["estimator"] = {
    "fitted_model", "parameters", "events", "scoring", "network", "neighbours", "realize",
    "series", "store",
}  # fmt: skip
MAY_IMPORT["adapters"] = {"estimator", "scoring"}
MAY_IMPORT["refit"] = {"estimator", "events", "planned", "scoring", "series", "store", "stream"}
MAY_IMPORT["renewal"] = {"estimator", "fleet", "planned", "refit", "series", "store", "watch"}
MAY_IMPORT["detection"] = {"estimator", "events", "report", "scoring", "series", "wording"}
MAY_IMPORT["bench"] = set(MAY_IMPORT) - {
    "adapters", "report", "export", "serve", "fleet", "watch", "detection", "renewal",
}  # fmt: skip

WITHOUT_TORCH = {
    "arrays", "artifacts", "configuration", "errors", "json_text", "metrics", "neighbours",
    "replacing", "series", "simulate",
}  # fmt: skip


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST, *, for_types: bool = True) -> Iterator[tuple[str, str]]:
    """Modules and names imported below a node, in functions too; a module alone without a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            if for_types:
                yield from imports(child)
        elif isinstance(child, ast.Import):
            yield from ((alias.name, "") for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from ((str(child.module), alias.name) for alias in child.names)
        else:
            yield from imports(child, for_types=for_types)


def imported_modules(path: Path) -> set[str]:
    found = list(imports(tree_of(path)))
    return {module for module, _ in found} | {f"{module}.{name}" for module, name in found if name}


@cache
def interface(package: str) -> set[str]:
    """The names that the root of a package offers."""
    return {name for _, name in imports(tree_of(SOURCE / package / "__init__.py"))}


def every_module() -> list[Path]:
    """All but the entry point, which names the function that the script `caps` names."""
    return sorted(set(SOURCE.rglob("*.py")) - {SOURCE / "__main__.py"})


def modules() -> list[Path]:
    return [path for path in every_module() if path.parent.name != "cli"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_with_the_data_flow(path: Path) -> None:
    package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if package == "__init__":
        return
    assert package in MAY_IMPORT, f"{package} is not in the table of packages: add it with its room"
    allowed = MAY_IMPORT[package] | OPEN | {package}
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] == "caps" and len(parts) > 1:
            assert parts[1] in allowed, f"{path} imports {name}, which lies downstream of {package}"
        if package in WITHOUT_TORCH:
            assert parts[0] != "torch", f"{path} imports torch: {package} must work without it"


PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("path", every_module(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_is_entered_by_its_root(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    for module, name in imports(tree_of(path)):
        _, package, *inner = [*module.split("."), ""]
        if not module.startswith("caps.") or package not in PACKAGES or package == own:
            continue
        assert not any(inner), f"{path} imports {module}: take it from caps.{package}"
        assert name in interface(package), f"{path}: {name} is not offered by caps.{package}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_is_hidden_by_a_module(package: str) -> None:
    """Which the package has as an attribute once it is imported."""
    assert interface(package) & {path.stem for path in (SOURCE / package).iterdir()} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_has_a_cycle(package: str) -> None:
    paths = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in sorted((SOURCE / package).rglob("*.py"))
    }
    graph = {
        module.removesuffix(".__init__"): {
            f"{home}.{name}" if f"{home}.{name}" in paths else home
            for home, name in imports(tree_of(path), for_types=False)
        }
        for module, path in paths.items()
    }
    root = f"caps.{package}"
    assert [module for module, used in graph.items() if root in used] == [], "import their own root"
    TopologicalSorter(graph).prepare()


def runs_of_imports(function: ast.AST) -> Iterator[list[ast.stmt]]:
    """Imports that follow each other in the body of a function or of a block in it."""
    for node in ast.walk(function):
        run: list[ast.stmt] = []
        for statement in [*(body if isinstance(body := getattr(node, "body", 0), list) else []), 0]:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                run.append(statement)
            elif run:
                yield run
                run = []


@pytest.mark.parametrize("path", every_module(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_an_import_inside_a_function_says_what_it_saves(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    functions = (
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    for function in functions:
        for first, *_, last in ([run[0], *run] for run in runs_of_imports(function)):
            told = lines[first.lineno - 2 : last.end_lineno]
            saved = any(SECONDS.search(line) for line in told)
            assert saved, f"{path}:{first.lineno} says no time: {told[-1].strip()}"
