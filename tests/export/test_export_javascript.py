"""A model that was exported is scored from JavaScript with the same numbers."""

import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from exported_model import Pair, unseen

from caps import CAPS
from caps.export import OnnxModel, write_onnx

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "examples" / "javascript"
PAGE = (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8")
OLDEST = 20  # of node
SAME = 1e-6  # of scores: rounding stays far below
# A tie between two neighbours may be broken by the last bit of a product.
MOST_TIES = 0.02
INSTALL_SECONDS = 120

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed: apt install nodejs")
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    if int(version.strip().lstrip("v").split(".")[0]) < OLDEST:
        pytest.skip(f"node {version.strip()} is older than {OLDEST}: install a newer one")
    return found


@pytest.fixture(scope="module")
def runtime(node: str) -> Path:
    """onnxruntime for node, installed once beside the module; its binaries are in the package."""
    folder = MODULE / "node_modules" / "onnxruntime-node"
    if not folder.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed: apt install npm")
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(
                command, cwd=MODULE, capture_output=True, text=True, timeout=INSTALL_SECONDS
            )
        except subprocess.TimeoutExpired:
            pytest.skip("npm could not fetch onnxruntime-node in time")
        if done.returncode:
            pytest.skip(f"npm could not fetch onnxruntime-node: {done.stderr[-200:]}")
    return folder


def in_javascript(node: str, model: Path, rows: pd.DataFrame, folder: Path) -> pd.DataFrame:
    rows.to_csv(folder / "rows.csv", index=False)
    command = [node, MODULE / "score.mjs", model, folder / "rows.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(io.StringIO(done.stdout))


def agree(found: pd.DataFrame, model: OnnxModel, scores: np.ndarray, p_values: np.ndarray) -> None:
    ours = found["score"].to_numpy()
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(scores))
    seen = np.isfinite(scores)
    for theirs, wanted in ((ours, scores), (found["p_value"].to_numpy(), p_values)):
        apart = np.abs(theirs - wanted)[seen]
        assert np.mean(apart > SAME) <= MOST_TIES, np.sort(apart)[-10:]
    away = seen & (np.abs(scores - model.threshold_) > SAME) & (np.abs(ours - scores) <= SAME)
    np.testing.assert_array_equal(found["alarm"][away] == 1, scores[away] >= model.threshold_)


def machine(first: int, rows: int) -> pd.DataFrame:
    """A day's wave, a counter, a switch and what stands still."""
    rng = np.random.default_rng(first)
    step = np.arange(first, first + rows)
    time = pd.DatetimeIndex(np.datetime64("2024-03-01", "ns") + step * np.timedelta64(10, "m"))
    return pd.DataFrame(
        {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "cpu": 10 + 3 * np.sin(step * 2 * np.pi / 144) + 0.3 * rng.standard_normal(rows),
            "served": 5.0 * step + np.cumsum(rng.poisson(2, rows)),
            "on": (step // 90 % 2).astype(float),
            "still": 4.0,
        }
    )


def test_the_default_model_needs_nothing_but_the_module(node: str, tmp_path: Path) -> None:
    history, rows = machine(0, 900), machine(900, 320)
    rows.loc[250:255, "cpu"] += 5
    rows.loc[200:204, "cpu"] = np.nan
    rows.loc[210, ["cpu", "served", "on", "still"]] = np.nan
    rows.loc[280:, "served"] -= rows.loc[280, "served"]  # it restarts
    rows.loc[300, "on"], rows.loc[310, "still"] = 0.5, 4.5
    rows = rows.drop(index=range(100, 108))
    write_onnx(CAPS(causal=True, alarms="1/day").fit(history), tmp_path / "model.onnx")
    model = OnnxModel.load(tmp_path / "model.onnx")
    kinds = {type(channel).__name__ for channel in model.fitted_.channels}
    assert kinds == {"LearnedChannel", "BinaryChannel", "ConstantChannel"}
    assert model.fitted_.counters == ("served",)
    update = model.stream().extend(rows.drop(columns="time").to_numpy(), rows["time"].tolist())
    found = in_javascript(node, tmp_path / "model.onnx", rows, tmp_path)
    agree(found, model, update.scores, update.p_values)
    assert found["alarm"][250 - 8 : 256 - 8].any(), "the incident"


def test_a_detector_is_run_by_onnxruntime(
    node: str, runtime: Path, causal: Pair, tmp_path: Path
) -> None:
    rows = pd.DataFrame({causal.exported.names_[0]: unseen()[400:]})
    update = causal.exported.stream().extend(rows.to_numpy())
    found = in_javascript(node, causal.path, rows, tmp_path)
    agree(found, causal.exported, update.scores, update.p_values)


def test_what_is_no_live_model_is_refused(node: str, both_sides: Pair, tmp_path: Path) -> None:
    edited = bytearray(both_sides.path.read_bytes())
    edited[len(edited) // 2] ^= 1
    (tmp_path / "edited.onnx").write_bytes(edited)
    (tmp_path / "rows.csv").write_text("value\n1\n", encoding="utf-8")
    for path, told in (
        (tmp_path / "edited.onnx", "export the model again"),
        (both_sides.path, "causal=True"),
    ):
        command = [node, MODULE / "score.mjs", path, tmp_path / "rows.csv"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert told in done.stderr


def test_the_example_of_the_page_runs(node: str, tmp_path: Path) -> None:
    (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (script,) = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    code = python.replace('"model.onnx"', repr(str(tmp_path / "model.onnx")))
    names: dict[str, object] = {}
    exec(compile(code, "javascript.md", "exec"), names)
    text = script.replace("./examples/javascript", MODULE.as_uri())
    (tmp_path / "live.mjs").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [node, "live.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    normal, odd = done.stdout.strip().splitlines()[-2:]
    assert "alarm false" in normal
    assert "alarm true" in odd


def test_versions_and_bounds_are_those_of_the_code() -> None:
    assert f"must agree to {SAME:g}" in PAGE
    assert f"so {MOST_TIES:.0%} of the rows" in PAGE
    facts = json.loads((MODULE / "package.json").read_text(encoding="utf-8"))
    version = facts["optionalDependencies"]["onnxruntime-node"]
    assert f"onnxruntime-node {version}" in PAGE
    assert facts["engines"]["node"] == f">={OLDEST}"
