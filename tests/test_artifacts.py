import json
from pathlib import Path

import numpy as np
import pytest

from caps.artifacts import MANIFEST, read_folder, replacing, write_folder
from caps.errors import ArtifactError

ARRAYS = {"weights": {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2, dtype=np.int64)}}


def write(folder: Path, **changes: object) -> None:
    write_folder(
        folder, **{"kind": "box", "version": 2, "facts": {"seed": 1}, "arrays": ARRAYS} | changes
    )


def test_a_folder_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "box")
    manifest, groups = read_folder(tmp_path / "box", kind="box", version=2)
    assert manifest["seed"] == 1
    np.testing.assert_array_equal(groups["weights"]["a"], ARRAYS["weights"]["a"])
    assert groups["weights"]["b"].dtype == np.int64


def test_writing_again_replaces_the_folder_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path / "box")
    write(tmp_path / "box", facts={"seed": 2})
    assert read_folder(tmp_path / "box", kind="box", version=2)[0]["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as temporary:
        temporary.write_text(None)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def damage_truncate(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


def damage_edit(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")


def damage_missing(folder: Path) -> None:
    (folder / "weights.safetensors").unlink()


def damage_json(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"kind": ')


def damage_escape(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["sha256"] = {"../outside": "0"}
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_truncate, "truncated or edited"),
        (damage_edit, "truncated or edited"),
        (damage_missing, "missing"),
        (damage_json, "not valid JSON"),
        (damage_escape, "names '../outside'"),
    ],
)
def test_a_damaged_folder_is_named_and_refused(
    tmp_path: Path, damage: object, message: str
) -> None:
    write(tmp_path / "box")
    damage(tmp_path / "box")
    with pytest.raises(ArtifactError, match=message):
        read_folder(tmp_path / "box", kind="box", version=2)


def test_a_newer_older_or_foreign_format_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "box")
    with pytest.raises(ArtifactError, match="upgrade"):
        read_folder(tmp_path / "box", kind="box", version=1)
    with pytest.raises(ArtifactError, match="make it again"):
        read_folder(tmp_path / "box", kind="box", version=3, oldest=3)
    with pytest.raises(ArtifactError, match="not 'hat'"):
        read_folder(tmp_path / "box", kind="hat", version=2)
