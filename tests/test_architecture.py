"""The folders show the data flow: imports point one way only."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "caps"

# Every package and what it may import from CAPS; OPEN is open to all.
OPEN = {
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
    "events": {"scoring", "neighbours", "realize", "series"},
    "stream": {"scoring", "events", "series"},
    "plots": {"events", "series"},
    "inspection": {"plots", "realize", "represent", "simulate"},
    "baselines": {"network", "recover", "metrics", "series"},
    "report": {"plots", "events", "scoring", "estimator", "series"},
    "watch": {"stream", "events", "scoring", "estimator", "series"},
    "export": {"stream", "events", "scoring", "network", "fitted_model", "estimator", "series"},
    "serve": {"stream", "plots", "events", "scoring", "network", "estimator", "report", "series"},
    "fleet": {"plots", "events", "scoring", "network", "estimator", "series"},
}
MAY_IMPORT["fitted_model"] = {"stream", "plots", "events", "scoring", "series"}
MAY_IMPORT["estimator"] = {
    "fitted_model", "events", "scoring", "network", "neighbours", "realize", "series",
}  # fmt: skip
MAY_IMPORT["bench"] = set(MAY_IMPORT) - {"report", "export", "serve", "fleet", "watch"}
WITHOUT_TORCH = {
    "artifacts", "configuration", "errors", "json_text", "metrics", "neighbours", "replacing",
    "series", "simulate",
}  # fmt: skip


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent.name != "cli")


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


# Packages whose root is their interface; the others are still imported by their modules.
ROOMS = ("jobs", "neighbours", "network", "scoring", "events", "stream", "plots", "inspection")


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_a_room_is_entered_by_its_door(path: Path) -> None:
    package = path.relative_to(SOURCE).parts[0]
    for name in imported_modules(path):
        _, room, *inner = [*name.split("."), "", ""]
        if room in ROOMS and room != package:
            module = SOURCE / room / f"{inner[0]}.py"
            assert not module.exists(), f"{path} imports {name}: take it from caps.{room}"
