"""Checkpoints of one stage: `step-N` folders, of which a kill at any instant leaves a whole one."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from caps.artifacts import Arrays, read_folder, write_folder
from caps.errors import ArtifactError, InputError

KIND = "training checkpoint"
VERSION = 1


class Checkpoints:
    """The checkpoints in `folder`, all of one `configuration`; only the newest is kept."""

    def __init__(self, folder: Path, configuration: Mapping[str, Any]) -> None:
        self.folder = folder
        self.configuration = configuration

    def newest(self) -> Path | None:
        """The folder of the newest checkpoint, if there is one."""
        found = [path for path in self.folder.glob("step-*") if path.name[5:].isdecimal()]
        return max(found, key=lambda path: int(path.name[5:]), default=None)

    def refuse_any(self) -> None:
        """Raise when there is a checkpoint: a new run must not overwrite hours of training."""
        newest = self.newest()
        if newest is not None:
            raise InputError(
                f"{newest} is the checkpoint of an earlier run", "resume it or name another folder"
            )

    def read(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]] | None:
        """Read the newest checkpoint, if there is one, after checking its configuration."""
        newest = self.newest()
        if newest is None:
            return None
        manifest, arrays = read_folder(newest, kind=KIND, version=VERSION)
        self._check(newest, manifest.get("configuration"))
        return manifest, arrays

    def write(self, step: int, facts: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> None:
        """Write the checkpoint of `step`, then remove the older ones and what a kill left over."""
        target = self.folder / f"step-{step:08d}"
        facts = {"step": step, "configuration": self.configuration, **facts}
        # A new name every time: the rename is atomic only where nothing has to step aside.
        if not target.exists():
            write_folder(target, kind=KIND, version=VERSION, facts=facts, arrays=arrays)
        for path in self.folder.iterdir():
            if path != target and path.name.startswith(("step-", ".step-")):
                shutil.rmtree(path, ignore_errors=True)

    def _check(self, path: Path, found: object) -> None:
        if not isinstance(found, dict):
            raise ArtifactError(f"{path} states no configuration", "remove it and train again")
        for key, wanted in self.configuration.items():
            if found.get(key) != wanted:
                difference = _difference(found.get(key), wanted)
                raise InputError(
                    f"{path} was trained with another {key} ({difference})",
                    "resume with the settings it was started with, or train in another folder",
                )


def _difference(found: object, wanted: object) -> str:
    """Say where two JSON values differ, as deep as their keys go."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = [*wanted, *(key for key in found if key not in wanted)]
        key = next(key for key in keys if found.get(key) != wanted.get(key))
        return f"{key}: {_difference(found.get(key), wanted.get(key))}"
    return f"{found}, now {wanted}"
