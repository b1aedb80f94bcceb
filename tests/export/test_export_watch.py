"""`caps watch` on an exported file."""

import json
import shutil
from pathlib import Path

import pytest
from exported_model import Pair, table

from caps.cli.main import main
from caps.cli.watch import load_models
from caps.errors import InputError
from caps.export import OnnxModel
from caps.watch import Followed


def watched(model: Path, rows: Path, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    with pytest.raises(SystemExit) as stop:
        main(["watch", str(model), "--input", str(rows)])
    shown = capsys.readouterr()
    assert stop.value.code == 0, shown.err
    return [json.loads(line) for line in shown.out.splitlines()]


def test_an_exported_file_is_watched_like_its_model(
    causal: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = causal.model.fitted_.names
    values = table()[600:, 0]
    values[40:44] += 8 * values.std()
    rows = tmp_path / "rows.csv"
    rows.write_text("\n".join([name, *map(str, values)]) + "\n")
    causal.model.save(tmp_path / "model")
    own = watched(tmp_path / "model", rows, capsys)
    exported = watched(causal.path, rows, capsys)
    assert [line["id"] for line in own] == [line["id"] for line in exported] != []
    scores = [[line["score"] for line in lines] for lines in (own, exported)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert all(line["reason"] and line["channels"] == [name] for line in exported)


def test_a_folder_may_hold_exported_files_by_id(causal: Pair, tmp_path: Path) -> None:
    shutil.copy(causal.path, tmp_path / "a%2Fb.onnx")
    _, model_of = load_models(tmp_path, True, Followed())
    assert isinstance(model_of("a/b"), OnnxModel)
    assert model_of("c") is None
    with pytest.raises(InputError, match="holds no model"):
        load_models(tmp_path / "nothing", True, Followed())
