"""Folders that CAPS writes: one `manifest.json` and arrays in safetensors, whole or not at all.

A folder is written under a temporary name and renamed, so a killed process leaves either the old
folder or the new one. Loading checks kind, format version and the SHA-256 of every file; it never
unpickles and never imports a name found in a file.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from caps.errors import ArtifactError, InputError
from caps.json_text import parse_json

MANIFEST = "manifest.json"
LONGEST_SHOWN = 200  # characters of a path in a message

Arrays = Mapping[str, np.ndarray]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling of `path` to write to; rename it into place when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as a whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_folder(
    folder: Path,
    *,
    kind: str,
    version: int,
    facts: Mapping[str, Any],
    arrays: Mapping[str, Arrays],
) -> None:
    """Write `facts` and the named groups of `arrays` (one `<group>.safetensors` each)."""
    if folder.is_file():
        raise InputError(f"{folder} is a file", "name a folder that does not exist yet")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder} holds files that CAPS did not write", "name a new or an empty folder"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        hashes = {}
        for group, tensors in arrays.items():
            content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
            (staging / f"{group}.safetensors").write_bytes(content)
            hashes[group] = hashlib.sha256(content).hexdigest()
        own = {"kind": kind, "version": version, "sha256": hashes}
        manifest = own | dict(facts) | own  # first in the file, and never the facts' own
        text = json.dumps(manifest, indent=2, allow_nan=False) + "\n"
        (staging / MANIFEST).write_text(text, encoding="utf-8")
        staging.chmod(0o755)
        _swap(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def read_manifest(folder: Path, *, kind: str, version: int, oldest: int = 1) -> dict[str, Any]:
    """Read and check `manifest.json` alone; format versions from `oldest` to `version` are read."""
    path = folder / MANIFEST
    try:
        manifest = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(
            f"{folder} has no {MANIFEST}", "name a folder written by CAPS"
        ) from None
    except OSError as error:
        raise ArtifactError(
            f"{str(folder)[:LONGEST_SHOWN]} cannot be read ({error.strerror})",
            "name a folder written by CAPS",
        ) from None
    except ValueError as error:
        raise ArtifactError(
            f"{path} is not valid JSON ({error})", "write the folder again"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("kind") != kind:
        found = manifest.get("kind") if isinstance(manifest, dict) else type(manifest).__name__
        raise ArtifactError(f"{folder} holds {found!r}, not {kind!r}", f"name a {kind} folder")
    found_version = manifest.get("version")
    if not isinstance(found_version, int) or found_version > version:
        raise ArtifactError(
            f"{folder} has format version {found_version!r}, this CAPS reads up to {version}",
            "upgrade caps-tsad",
        )
    if found_version < oldest:
        raise ArtifactError(
            f"{folder} has format version {found_version}, this CAPS reads from {oldest} on",
            "make it again with this version of caps-tsad, or use the older one",
        )
    return manifest


def read_folder(
    folder: Path, *, kind: str, version: int, oldest: int = 1
) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """Read a folder written by `write_folder` after checking that every byte is as written."""
    manifest = read_manifest(folder, kind=kind, version=version, oldest=oldest)
    hashes = manifest.get("sha256")
    if not isinstance(hashes, dict):
        raise ArtifactError(f"{folder / MANIFEST} lists no files", "write the folder again")
    groups = {}
    for group, expected in hashes.items():
        path = folder / f"{group}.safetensors"
        if path.parent != folder:
            raise ArtifactError(f"{folder / MANIFEST} names {group!r}", "write the folder again")
        groups[group] = _read_arrays(path, expected)
    return manifest, groups


def _read_arrays(path: Path, expected: object) -> dict[str, np.ndarray]:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise ArtifactError(f"{path} is missing", "write the folder again") from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise ArtifactError(
            f"{path} is truncated or edited (its SHA-256 differs from the manifest's)",
            "write the folder again or restore the file",
        )
    try:
        return dict(load(content))
    except SafetensorError as error:
        raise ArtifactError(f"{path} is no safetensors file ({error})", "write it again") from None


def _swap(staging: Path, folder: Path) -> None:
    """Rename `staging` to `folder`; an old folder steps aside first and is then removed."""
    if not folder.exists():
        staging.rename(folder)
        return
    old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
    folder.rename(old / "was")
    staging.rename(folder)
    shutil.rmtree(old)
