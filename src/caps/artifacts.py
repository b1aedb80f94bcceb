"""Folders that CAPS writes: one `manifest.json` and arrays in safetensors, whole or not at all.

Loading checks kind, format version and the SHA-256 of every file; it never unpickles and never
imports a name found in a file. What may be replaced, and how, is said in `caps.replacing`.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from caps.errors import ArtifactError
from caps.json_text import parse_json
from caps.replacing import (
    MANIFEST as MANIFEST,
    clear_leftovers,
    replacing as replacing,
    replacing_folder,
)

SEAL = "digest"
OWN = {"kind", "version", "sha256", SEAL}  # checked on their own
LONGEST_SHOWN = 200  # characters of a path in a message

Arrays = Mapping[str, np.ndarray]


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
    with replacing_folder(folder, kind=kind) as staging:
        hashes = {}
        for group, tensors in arrays.items():
            content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
            (staging / f"{group}.safetensors").write_bytes(content)
            hashes[group] = hashlib.sha256(content).hexdigest()
        own = {"kind": kind, "version": version, "sha256": hashes}
        manifest = own | dict(facts) | own  # first in the file, and never the facts' own
        text = json.dumps(manifest, indent=2, allow_nan=False) + "\n"
        (staging / MANIFEST).write_text(text, encoding="utf-8")


@contextmanager
def writing_together(folder: Path, *, kind: str, version: int) -> Iterator[Path]:
    """Yield a folder for files that belong together; they take the place of `folder` at once."""
    with replacing_folder(folder, kind=kind) as staging:
        yield staging
        found = (path for path in staging.rglob("*") if path.is_file())
        names = sorted(path.relative_to(staging).as_posix() for path in found)
        facts = {"kind": kind, "version": version, "files": names}
        (staging / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path, *, kind: str, version: int, oldest: int = 1) -> dict[str, Any]:
    """Read and check `manifest.json` alone; format versions from `oldest` to `version` are read."""
    path = folder / MANIFEST
    if not os.path.lexists(folder):
        clear_leftovers(folder)  # a killed exchange may have put it aside
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
    folder: Path,
    *,
    kind: str,
    version: int,
    oldest: int = 1,
    groups: Collection[str] | None = None,
) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """Read a folder written by `write_folder` after checking that every byte is as written.

    Of the arrays only those `groups`, if they are named.
    """
    manifest = read_manifest(folder, kind=kind, version=version, oldest=oldest)
    hashes = manifest.get("sha256")
    if not isinstance(hashes, dict):
        raise ArtifactError(f"{folder / MANIFEST} lists no files", "write the folder again")
    found = {}
    for group, expected in hashes.items():
        if groups is not None and group not in groups:
            continue
        path = folder / f"{group}.safetensors"
        if path.parent != folder:
            raise ArtifactError(f"{folder / MANIFEST} names {group!r}", "write the folder again")
        found[group] = _read_arrays(path, expected)
    return manifest, found


def sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a manifest with a digest of them, for `write_folder`; see `check_seal`."""
    return {**facts, SEAL: _digest(json.dumps(facts, allow_nan=False))}


def check_seal(folder: Path, *, remedy: str) -> None:
    """Refuse a manifest whose facts are not those that were `sealed`, to the last digit."""
    path = folder / MANIFEST
    text = path.read_text(encoding="utf-8")
    if json.loads(text).get(SEAL) != _digest(text):
        raise ArtifactError(f"{path} was edited (its own digest differs)", remedy)


def _digest(manifest: str) -> str:
    """SHA-256 of the facts as they are spelled: two spellings may be one number as a float."""
    spelled: dict[str, Any] = json.loads(
        manifest, parse_float=lambda digits: [digits], parse_int=lambda digits: [digits]
    )
    facts = {name: spelled[name] for name in sorted(spelled) if name not in OWN}
    text = json.dumps(facts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
