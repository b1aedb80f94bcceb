"""What the pages on detection say is so."""

import inspect
import re
from pathlib import Path

from caps import CAPS
from caps.cli.detect import detect
from caps.events import Analysis, EventConfig
from caps.neighbours import NeighbourConfig

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "detect.md").read_text(encoding="utf-8").split())


def test_every_method_shown_exists() -> None:
    shown = set(re.findall(r"model\.([a-z_]+)\(", PAGE))
    assert {"fit", "events", "set_alarms"} <= shown | {"fit"}
    assert all(hasattr(CAPS, name) for name in shown)
    assert hasattr(Analysis, "explanations")
    assert hasattr(Analysis, "alarms")


def test_the_numbers_are_those_of_the_code() -> None:
    neighbours, config = NeighbourConfig(), EventConfig()
    assert f"The {neighbours.counterpart.margin} rows on either side" in PAGE
    assert f"reaches {config.certain}" in PAGE
    assert f"fewer than {config.least_kind_accuracy:.0%}".replace("%", " %") in PAGE
    assert f"last {neighbours.rows:,} scaled training rows" in PAGE
    assert config.most_channels == 3
    assert "the three that contribute most" in PAGE


def test_the_options_of_the_table_are_those_of_the_command() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    cells = " ".join(re.findall(r"^\| (`--[^|]+)", page, re.M))
    named = {name.replace("-", "_") for name in re.findall(r"`--([a-z-]+)", cells)}
    parameters = set(inspect.signature(detect).parameters)
    assert named - {"json", "help", "out"} <= parameters
    assert parameters - {"file", "json_output", "pretrained"} <= named | {"out"}
