"""Whatever was done to an exported file is noticed; the command writes it whole or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from exported_model import Pair, table

from caps import CAPS, ArtifactError
from caps.cli.main import main
from caps.export import OnnxModel, write_onnx
from caps.export.model import sealed


def forged(path: Path, change: Callable[[onnx.ModelProto, dict[str, Any]], None]) -> bytes:
    """The file with something else in it, sealed as someone would who knows how."""
    model = onnx.load(path)
    described = {entry.key: entry.value for entry in model.metadata_props}["caps"]
    facts = json.loads(described)
    change(model, facts)
    del model.metadata_props[:]
    entry = model.metadata_props.add()
    entry.key, entry.value = "caps", json.dumps(facts)
    return sealed(model.SerializeToString())


def test_the_file_is_a_sound_onnx_model(causal: Pair) -> None:
    onnx.checker.check_model(onnx.load(causal.path))


@pytest.mark.parametrize("cut", [1, 40, 1000, 10**9], ids=str)
def test_a_truncated_file_is_refused(causal: Pair, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.onnx"
    path.write_bytes(causal.path.read_bytes()[:-cut])
    with pytest.raises(ArtifactError, match=r"cut.onnx is truncated"):
        OnnxModel.load(path)


@pytest.mark.parametrize("index", [0, 5000, -100], ids=str)
def test_a_changed_byte_is_noticed(causal: Pair, tmp_path: Path, index: int) -> None:
    content = bytearray(causal.path.read_bytes())
    content[index] ^= 1
    path = tmp_path / "edited.onnx"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="was edited"):
        OnnxModel.load(path)


def test_what_is_no_export_is_refused(causal: Pair, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no file"):
        OnnxModel.load(tmp_path / "nothing.onnx")
    with pytest.raises(ArtifactError, match="no file"):
        OnnxModel.load(tmp_path)
    foreign = tmp_path / "foreign.onnx"
    model = onnx.load(causal.path)
    del model.metadata_props[:]
    foreign.write_bytes(sealed(model.SerializeToString()))
    with pytest.raises(ArtifactError, match="no description"):
        OnnxModel.load(foreign)
    foreign.write_bytes(sealed(b"not a graph"))
    with pytest.raises(ArtifactError, match="no graph"):
        OnnxModel.load(foreign)


@pytest.mark.parametrize(
    "change",
    [
        lambda model, facts: facts.update(kind="caps.model"),
        lambda model, facts: facts.update(version=99),
        lambda model, facts: facts.update(version=1),
        lambda model, facts: facts.update(banks=[]),
        lambda model, facts: facts.update(banks=["?"]),
        lambda model, facts: facts.update(banks=["AAA="]),
        lambda model, facts: facts.update(alarms="always"),
        lambda model, facts: facts.update(bets=[[0.0, 1.0]]),
        lambda model, facts: facts.update(networks={"0": 1}),
        lambda model, facts: facts.update(networks={"os": 0}),
        lambda model, facts: facts.pop("model"),
        lambda model, facts: facts["model"].pop("scaler"),
        lambda model, facts: facts["model"].update(causal="no"),
        lambda model, facts: facts["model"]["channels"].clear(),
        lambda model, facts: facts["model"]["channels"][0].update(memory={"first": 0}),
        lambda model, facts: facts["model"]["channels"][0]["detector"].update(window=512),
        lambda model, facts: facts["model"]["channels"][0]["detector"].update(network="eval"),
        lambda model, facts: setattr(model.graph.output[0], "name", "other"),
        lambda model, facts: setattr(model.graph.node[0], "op_type", "System"),
    ],
    ids=range(19),
)
def test_a_forged_file_is_refused(
    causal: Pair, tmp_path: Path, change: Callable[[onnx.ModelProto, dict[str, Any]], None]
) -> None:
    path = tmp_path / "forged.onnx"
    path.write_bytes(forged(causal.path, change))
    with pytest.raises(ArtifactError):
        OnnxModel.load(path)


def test_weights_outside_the_file_are_not_read(causal: Pair, tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(4096))

    def outside(model: onnx.ModelProto, facts: dict[str, Any]) -> None:
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                onnx.external_data_helper.set_external_data(tensor, secret.name)
                tensor.ClearField("raw_data")
                return

    path = tmp_path / "outside.onnx"
    path.write_bytes(forged(causal.path, outside))
    with pytest.raises(ArtifactError):
        OnnxModel.load(path)


@pytest.mark.parametrize("varied", [True, False], ids=["neighbours alone", "a constant"])
def test_a_model_without_networks_is_exported_too(tmp_path: Path, varied: bool) -> None:
    values = np.sin(np.arange(500) / 8) if varied else np.ones(500)
    values[450] += 5
    model = CAPS(train=400, causal=True).fit(values)
    assert write_onnx(model, tmp_path / "model.onnx").difference == 0
    exported = OnnxModel.load(tmp_path / "model.onnx")
    np.testing.assert_array_equal(
        exported.decision_function(values), model.decision_function(values)
    )
    streams = model.stream(), exported.stream()
    for row in values[400:460]:
        one, other = (stream.update(row).score for stream in streams)
        assert one == other


def test_the_command_writes_the_file(
    causal: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    causal.model.save(tmp_path / "model")
    out = tmp_path / "new" / "model.onnx"
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "model"), "--onnx", str(out), "--json"])
    assert ended.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["file"] == str(out)
    assert facts["bytes"] == out.stat().st_size
    assert facts["largest_difference"] < 1e-5
    assert list(out.parent.iterdir()) == [out]
    values = table()[:, 0]
    np.testing.assert_array_equal(
        OnnxModel.load(out).decision_function(values), causal.exported.decision_function(values)
    )


def test_the_command_refuses_what_is_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path), "--onnx", str(tmp_path / "model.onnx")])
    assert ended.value.code == 1
    assert "manifest.json" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
