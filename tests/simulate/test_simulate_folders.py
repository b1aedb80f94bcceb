"""Pairs survive the disk; damaged and foreign folders are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from caps.artifacts import sealed
from caps.errors import ArtifactError
from caps.simulate import PairBatch, load_pairs, save_pairs


@pytest.fixture
def folder(pairs: PairBatch, tmp_path: Path) -> Path:
    save_pairs(pairs[:60], tmp_path / "pairs", seed=11)
    return tmp_path / "pairs"


def forge(folder: Path, manifest: dict) -> None:
    """Write a manifest as someone would who knows about the seal."""
    own = ("kind", "version", "sha256", "digest")
    facts = {name: value for name, value in manifest.items() if name not in own}
    (folder / "manifest.json").write_text(json.dumps(manifest | sealed(facts)))


def test_pairs_come_back_as_written(pairs: PairBatch, folder: Path) -> None:
    loaded = load_pairs(folder)
    for name in PairBatch.__slots__:
        before, after = getattr(pairs[:60], name), getattr(loaded, name)
        assert before.dtype == after.dtype
        assert np.array_equal(before, after, equal_nan=True), name


def test_the_manifest_counts_what_is_there(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["pairs"] == 60
    assert manifest["seed"] == 11
    assert manifest["families"] == {"point": 20, "periodic": 20, "trend": 20}
    assert sum(manifest["operations"].values()) == 60
    assert sum(manifest["generators"].values()) == 60


def test_every_edit_of_a_digit_in_the_manifest_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_text()
    digits = [index for index, letter in enumerate(whole) if letter.isdigit()]
    assert len(digits) > 100
    for index in digits:
        path.write_text(whole[:index] + str((int(whole[index]) + 1) % 10) + whole[index + 1 :])
        with pytest.raises(ArtifactError):
            load_pairs(folder)
    path.write_text(whole)
    assert len(load_pairs(folder)) == 60


def test_a_truncated_file_is_refused(folder: Path) -> None:
    path = folder / "pairs.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ArtifactError, match="truncated or edited"):
        load_pairs(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / "pairs.safetensors").unlink()
    with pytest.raises(ArtifactError, match="missing"):
        load_pairs(folder)


def test_a_foreign_folder_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"kind": "something else"}))
    with pytest.raises(ArtifactError, match="something else"):
        load_pairs(folder)


def test_a_newer_folder_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"version": 99}))
    with pytest.raises(ArtifactError, match="version"):
        load_pairs(folder)


def test_names_in_another_order_are_translated(pairs: PairBatch, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    turned = dict(reversed(manifest["families"].items()))
    forge(folder, manifest | {"families": turned})
    assert np.array_equal(load_pairs(folder).family, 2 - pairs[:60].family)


def test_unknown_operations_are_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    renamed = {f"X{name}": count for name, count in manifest["operations"].items()}
    forge(folder, manifest | {"operations": renamed})
    with pytest.raises(ArtifactError, match="does not know"):
        load_pairs(folder)
