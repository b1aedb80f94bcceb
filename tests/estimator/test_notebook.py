"""The notebook of the docs runs from top to bottom, and the page is what it shows."""

import json
import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from caps import CAPS

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "site" / "notebook.py"))
NOTEBOOK, PAGE, IMAGES = TOOL["NOTEBOOK"], TOOL["PAGE"], TOOL["IMAGES"]


@pytest.fixture(scope="module")
def notebook() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return content


@pytest.mark.slow
def test_every_cell_runs_and_the_incidents_are_found(notebook: dict[str, Any]) -> None:
    cells, names = TOOL["execute"](notebook["cells"])
    events = names["found"].events
    for moment in ("2024-03-21 14:30", "2024-03-26 04:00"):
        assert ((events["start"] <= moment) & (pd.Timestamp(moment) <= events["end"])).any()
    assert isinstance(names["live"], CAPS)
    told = [output for cell in cells for output in cell.get("outputs", ())]
    assert "an event, score" in "".join(told[-1]["text"])
    assert len(told) == sum(len(cell.get("outputs", ())) for cell in notebook["cells"])


def test_the_page_is_the_notebook(notebook: dict[str, Any]) -> None:
    assert PAGE.read_text(encoding="utf-8") == TOOL["render"](notebook), (
        "python -m tools.site.notebook"
    )
    for index, picture in enumerate(TOOL["pictures"](notebook), start=1):
        assert (IMAGES / f"{PAGE.stem}-{index}.png").read_bytes() == picture


def test_jupyter_can_open_it(notebook: dict[str, Any]) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        code = {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | code
