"""JSON that CAPS reads back: what is not sound is an error of its own, wherever it stands."""

from pathlib import Path

import pytest

from caps.artifacts import read_folder, read_manifest, write_folder
from caps.bench.cells import read_cell
from caps.errors import ArtifactError
from caps.export.model import read_description
from caps.json_text import parse_json
from caps.serve.files import Record, read_facts

UNSOUND = ["9" * 400, "-" + "9" * 400, "9" * 5000, "[" * 100_000, "{", '{"a": 1}}', "", "\0"]


@pytest.mark.parametrize("text", UNSOUND, ids=lambda text: text[:6] + str(len(text)))
def test_unsound_text_is_one_kind_of_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ArtifactError, match="is not valid JSON"):
        read_manifest(tmp_path, kind="caps.model", version=1)
    with pytest.raises(ArtifactError):
        read_facts(Record, tmp_path / "manifest.json")
    assert read_cell(tmp_path / "manifest.json") is None
    if text:
        with pytest.raises(ArtifactError, match="no JSON"):
            read_description(text)


def test_numbers_as_large_as_a_float_are_read() -> None:
    assert parse_json("9" * 308) == int("9" * 308)
    assert parse_json(b"[1, -2.5, null]") == [1, -2.5, None]


def test_what_is_no_folder_of_caps_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "odd" / "manifest.json").mkdir(parents=True)
    for folder in (tmp_path / "file", tmp_path / "odd", tmp_path / ("x" * 300)):
        with pytest.raises(ArtifactError, match="cannot be read"):
            read_manifest(folder, kind="caps.model", version=1)
    write_folder(tmp_path / "own", kind="k", version=1, facts={}, arrays={"a": {}})
    (tmp_path / "own" / "a.safetensors").unlink()
    (tmp_path / "own" / "a.safetensors").mkdir()
    with pytest.raises(ArtifactError, match="is missing"):
        read_folder(tmp_path / "own", kind="k", version=1)
