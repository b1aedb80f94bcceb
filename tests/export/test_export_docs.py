"""The page on the small artefact: its example runs, what it says is what the code does."""

import re
from pathlib import Path

import numpy as np
import pytest

import caps
from caps.export import Exported, OnnxModel
from caps.export.writing import CHECKED_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_example_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "export.md", "exec"), names)
    assert len(capsys.readouterr().out.splitlines()) >= 3
    model, recent = names["model"], names["recent"]
    assert isinstance(model, OnnxModel)
    assert isinstance(recent, np.ndarray)
    assert model.decision_function(recent)[-2] > model.decision_function(recent)[:-2].mean()


def test_names_and_numbers_are_those_of_the_code() -> None:
    for name in ("decision_function", "events", "analyze", "stream", "set_alarms"):
        assert callable(getattr(OnnxModel, name))
        assert f"`{name}`" in PROSE
    assert f"last {CHECKED_ROWS:,} training rows" in PROSE
    assert f"caps_tsad-{caps.__version__}-py3" in PROSE
    assert "difference" in Exported.__dataclass_fields__
