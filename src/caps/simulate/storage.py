"""Pairs on disk: a folder with `pairs.safetensors` and a manifest (docs/simulator.md)."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from caps.artifacts import check_seal, read_folder, sealed, write_folder
from caps.errors import ArtifactError
from caps.simulate.anomaly.catalogue import OPERATIONS
from caps.simulate.anomaly.operation import FAMILIES
from caps.simulate.normal.catalogue import GENERATORS
from caps.simulate.pairs import PARAMETERS, PairBatch

KIND = "caps pairs"
VERSION = 3  # sealed, with the local scale: no older one is read
# Lists of names in the manifest, and the columns that are indices into them.
NAMED = {
    "families": ("family", FAMILIES),
    "operations": ("operation", OPERATIONS),
    "generators": ("generator", GENERATORS),
}


def save_pairs(pairs: PairBatch, folder: Path | str, *, seed: int | None = None) -> None:
    """Write `pairs` to a folder, whole or not at all; `seed` is noted in the manifest."""
    arrays = {field.name: getattr(pairs, field.name) for field in fields(pairs)}
    facts: dict[str, Any] = {
        "pairs": len(pairs),
        "window": int(pairs.normal.shape[1]),
        "seed": seed,
        **{name: counts(known, getattr(pairs, column)) for name, (column, known) in NAMED.items()},
        "parameters": list(PARAMETERS),
    }
    write_folder(
        Path(folder), kind=KIND, version=VERSION, facts=sealed(facts), arrays={"pairs": arrays}
    )


def load_pairs(folder: Path | str) -> PairBatch:
    """Read pairs written by `save_pairs`; damaged or foreign folders are refused.

    Indices of families, operations and generators are translated by the names in the manifest.
    """
    manifest, groups = read_folder(Path(folder), kind=KIND, version=VERSION, oldest=VERSION)
    check_seal(Path(folder), remedy="restore it, or simulate the pairs again")
    arrays = groups.get("pairs", {})
    names = [field.name for field in fields(PairBatch)]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ArtifactError(f"{folder} lacks {', '.join(missing)}", "simulate the pairs again")
    for name, (column, known) in NAMED.items():
        arrays[column] = _translated(arrays[column], list(manifest.get(name, {})), known, folder)
    return PairBatch(**{name: arrays[name] for name in names})


def counts(names: Sequence[str], index: np.ndarray) -> dict[str, int]:
    """How often each name occurs."""
    return {name: int((index == code).sum()) for code, name in enumerate(names)}


def _translated(
    index: np.ndarray, stored: list[str], known: Sequence[str], folder: Path | str
) -> np.ndarray:
    """Indices into `stored` names as indices into the `known` ones."""
    if stored == list(known):
        return index
    unknown = [name for name in stored if name not in known]
    if unknown or len(stored) <= int(index.max(initial=-1)):
        raise ArtifactError(
            f"{folder} uses names this CAPS does not know ({', '.join(unknown) or 'none given'})",
            "simulate the pairs again with this version",
        )
    table = np.array([known.index(name) for name in stored])
    return np.asarray(table[index].astype(index.dtype))
