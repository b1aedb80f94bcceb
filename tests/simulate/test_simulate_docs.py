"""docs/simulator.md tells what the code does."""

import doctest
import re
from pathlib import Path

from caps.simulate import PARAMETERS
from caps.simulate.anomaly.catalogue import CATALOGUE as OPERATIONS
from caps.simulate.normal.catalogue import CATALOGUE as GENERATORS

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"


def table() -> dict[str, float]:
    rows = re.findall(r"^\| ([NPQT]\d+ [^|]+) \| ([\d.]+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: float(weight) for name, weight in rows}


def test_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


def test_tables_list_every_generator_and_operation_with_its_weight() -> None:
    assert table() == {entry.name: entry.weight for entry in (*GENERATORS, *OPERATIONS)}


def test_every_parameter_is_explained() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in PARAMETERS)


def test_every_operation_and_generator_gives_its_reason() -> None:
    for entry in OPERATIONS:
        assert entry.reason
        assert (entry.render.__doc__ or "").startswith(entry.name.split()[0] + ":")
    for made in GENERATORS:
        assert made.reason
        assert (made.make.__doc__ or "").startswith(made.name.split()[0] + ":")
