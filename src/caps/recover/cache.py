"""Counterparts kept in a folder, found again by the content of everything they depend on."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from caps.artifacts import read_folder, write_folder
from caps.errors import ArtifactError, InputError
from caps.realize import Pretrained
from caps.recover.references import References

KIND = "caps.counterparts"
VERSION = 1  # also of the ways to draw: a change of them must not be answered with old counterparts

Columns = dict[str, np.ndarray]


def cached(
    folder: Path | None,
    pretrained: Pretrained,
    references: References,
    request: Mapping[str, Any],
    make: Callable[[], Columns],
) -> Columns:
    """What `make` returns, kept under `folder`; an entry that was damaged is made again."""
    if folder is None:
        return make()
    entry = folder / content_key(pretrained, references, request)
    try:
        return read_folder(entry, kind=KIND, version=VERSION)[1]["columns"]
    except ArtifactError:
        columns = make()
    write_folder(
        entry, kind=KIND, version=VERSION, facts={"request": request}, arrays={"columns": columns}
    )
    return columns


def content_key(pretrained: Pretrained, references: References, request: Mapping[str, Any]) -> str:
    """A name for the request: it changes with the weights, the references and every option."""
    weights = pretrained.facts.get("sha256")
    if not isinstance(weights, dict):
        raise InputError(
            "weights that were never saved have no name to cache under",
            "save them and load them again, or leave out the cache",
        )
    named = {
        "version": VERSION,
        "weights": weights,
        "preset": asdict(pretrained.preset),
        "modes": [(mode.name, mode.scale, mode.prior.kind) for mode in pretrained.modes],
        "shape": references.windows.shape,
        "request": request,
    }
    digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(references.windows, dtype=np.float32).tobytes())
    return digest.hexdigest()[:32]
