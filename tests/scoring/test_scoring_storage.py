"""A saved model scores the same, and whatever was done to its files is noticed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from caps import CAPS, ArtifactError
from caps.scoring.description import digest
from untrained_weights import noisy_wave, save_untrained_weights, small_model

ROWS = 700


def two_channels() -> np.ndarray:
    return np.column_stack([noisy_wave(ROWS), np.roll(noisy_wave(ROWS, seed=1), 5), np.ones(ROWS)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CAPS:
    weights = save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")
    return small_model(weights, modes=(0, 2)).fit(two_channels())


@pytest.fixture(scope="module")
def written(model: CAPS, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    model.save(folder)
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(written, tmp_path / "model"))


def test_scores_and_events_are_the_same_to_the_bit(model: CAPS, written: Path) -> None:
    loaded = CAPS.load(written)
    values = two_channels()
    values[650:660] += 5
    assert np.array_equal(loaded.decision_function(values), model.decision_function(values))
    ours, theirs = loaded.score_frame(values), model.score_frame(values)
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    assert loaded.threshold_ == model.threshold_
    assert loaded.expected_alarms_ == model.expected_alarms_


def test_parameters_and_notes_come_back(model: CAPS, written: Path) -> None:
    loaded = CAPS.load(written)
    assert loaded.notes_ == model.notes_
    for name in ("alarms", "aggregate", "construction", "references", "seed", "causal"):
        assert getattr(loaded, name) == getattr(model, name)
    assert loaded.modes == [0, 2]


def test_saving_again_replaces_the_model_but_nothing_else(model: CAPS, folder: Path) -> None:
    model.save(folder)
    CAPS.load(folder)
    other = folder.parent / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="did not write"):
        model.save(other)


def test_a_truncated_file_is_named(folder: Path) -> None:
    path = folder / "channel-0.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ArtifactError, match=r"channel-0.safetensors is truncated"):
        CAPS.load(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "channel-1.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"channel-1.safetensors is missing"):
        CAPS.load(folder)


def test_weights_are_of_another_kind(tmp_path: Path) -> None:
    save_untrained_weights(tmp_path / "weights")
    with pytest.raises(ArtifactError, match=r"caps\.model"):
        CAPS.load(tmp_path / "weights")


def test_an_edited_manifest_is_noticed(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"alarms": "1/500"', '"alarms": "1/2"'))
    with pytest.raises(ArtifactError, match="edited"):
        CAPS.load(folder)


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest as someone would who knows about the digest."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest["digest"] = digest({name: manifest[name] for name in ("options", "model")})
    path.write_text(json.dumps(manifest))


def forge_arrays(folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    path = folder / "channel-0.safetensors"
    arrays = load_file(path)
    change(arrays)
    save_file(arrays, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forge(folder, lambda manifest: manifest["sha256"].update({"channel-0": digest}))


def test_a_model_of_another_way_of_scoring_is_refused(folder: Path) -> None:
    forge(folder, lambda manifest: manifest.update(version=6))
    with pytest.raises(ArtifactError, match="make it again"):
        CAPS.load(folder)


def channel(manifest: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = manifest["model"]["channels"][0]
    return first


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: channel(manifest)["detector"].update(width=8 * 10**9),
        lambda manifest: channel(manifest)["detector"].update(members=10**9),
        lambda manifest: channel(manifest)["detector"].update(network="os.system"),
        lambda manifest: channel(manifest)["detector"].pop("stride"),
        lambda manifest: channel(manifest).update(kind="unknown"),
        lambda manifest: channel(manifest).update(calibration=None),
        lambda manifest: channel(manifest).update(name=["a"]),
        lambda manifest: channel(manifest).update(level={"low": 1.0, "high": 0.0, "scale": 1.0}),
        lambda manifest: channel(manifest).pop("level"),
        lambda manifest: channel(manifest).update(kind="constant"),
        lambda manifest: channel(manifest).update(detector=None),
        lambda manifest: channel(manifest).update(memory=None),
        lambda manifest: manifest["model"]["config"]["neighbours"].update(lengths=[]),
        lambda manifest: manifest["model"]["config"]["neighbours"].update(rows=2.5),
        lambda manifest: manifest["model"]["config"]["neighbours"]["overlap"].update(run=-1),
        lambda manifest: manifest["model"]["config"]["scoring"].update(more=1),
        lambda manifest: manifest["model"]["config"].pop("calibration"),
        lambda manifest: manifest["model"]["channels"].pop(),
        lambda manifest: manifest["model"].update(aggregate="worst"),
        lambda manifest: manifest["model"].update(causal="no"),
        lambda manifest: manifest["model"].update(step="soon"),
        lambda manifest: manifest["model"].pop("scaler"),
        lambda manifest: manifest["model"]["scaler"].update(scale=[0.0, 1.0, 1.0]),
        lambda manifest: manifest["model"]["scaler"].update(centre=[1.0]),
        lambda manifest: manifest["model"]["calibration"].update(levels=[]),
        lambda manifest: manifest["options"].update(pretrained="/somewhere"),
        lambda manifest: manifest["options"].update(alarms="always"),
        lambda manifest: manifest.update(model=[]),
        lambda manifest: manifest.update(options=None),
    ],
    ids=range(29),
)
def test_a_forged_manifest_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    forge(folder, change)
    with pytest.raises(ArtifactError):
        CAPS.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update({"detector.members.0.head.bias": np.full(4, np.nan, "f4")}),
        lambda arrays: arrays.update({"detector.members.0.head.bias": np.zeros(4)}),
        lambda arrays: arrays.update({"detector.members.0.head.bias": np.zeros(3, "f4")}),
        lambda arrays: arrays.update({"detector.members.7.head.bias": np.zeros(4, "f4")}),
        lambda arrays: arrays.pop("detector.members.0.head.bias"),
        lambda arrays: arrays.pop("bank"),
        lambda arrays: arrays.update(bank=np.full(9, np.inf, "f4")),
        lambda arrays: arrays.update(bank=np.zeros((3, 3), "f4")),
    ],
    ids=["nan", "dtype", "shape", "extra", "missing", "no bank", "infinite bank", "wide bank"],
)
def test_forged_arrays_are_refused(
    folder: Path, change: Callable[[dict[str, np.ndarray]], None]
) -> None:
    forge_arrays(folder, change)
    with pytest.raises(ArtifactError):
        CAPS.load(folder)
