"""Streams on disk, and many of them by id: the state is a folder of JSON and safetensors."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.artifacts import check_seal, read_folder, sealed, write_folder
from caps.errors import ArtifactError
from caps.scoring import Fitted

if TYPE_CHECKING:
    from caps.stream.stream import Stream

KIND = "caps.stream"
VERSION = 7  # with what is odd at the peak of an open event: no older one is read
GROUP = "streams"


def save_streams(
    folder: Path, streams: Mapping[str, "Stream"], extra: Mapping[str, Any] | None = None
) -> None:
    """Write the state of streams by id, with `extra` JSON values beside it, whole or not at all."""
    described = []
    arrays: dict[str, np.ndarray] = {}
    for number, (name, stream) in enumerate(streams.items()):
        facts, values = stream.state()
        model = {"model": fingerprint(stream.fitted), "channels": list(stream.fitted.names)}
        described.append({"id": name, **model, "state": facts})
        arrays |= {f"{number}.{part}": array for part, array in values.items()}
    write_folder(
        folder,
        kind=KIND,
        version=VERSION,
        facts=sealed({"streams": described, "extra": dict(extra or {})}),
        arrays={GROUP: arrays},
    )


class SavedStreams:
    """A folder written by `save_streams`, checked; streams are restored one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest, groups = read_folder(folder, kind=KIND, version=VERSION, oldest=VERSION)
        check_seal(folder, remedy="restore it, or start again without it")
        try:
            self.extra: dict[str, Any] = dict(manifest["extra"])
            self.described = {each["id"]: (k, each) for k, each in enumerate(manifest["streams"])}
            self.arrays = groups[GROUP]
        except (KeyError, TypeError) as error:
            raise self._odd(error) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.described)

    def restore(self, name: str, stream: "Stream") -> None:
        """Continue a new stream from the state of this id; it must be of the same model."""
        if name not in self.described:
            raise ArtifactError(f"{self.folder} has no stream {name!r}", "start without a state")
        number, facts = self.described[name]
        if facts.get("model") != fingerprint(stream.fitted):
            raise ArtifactError(
                f"the state in {self.folder} belongs to another model",
                "name another folder for the state of this model",
            )
        arrays = {
            part: self.arrays.get(f"{number}.{part}", np.empty(0))
            for part in ("past", "held", "followed")
        }
        try:
            stream.restore(facts["state"], arrays)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._odd(error) from None

    def take_over(self, name: str, stream: "Stream") -> bool:
        """Continue a new stream of another fit from the state of this id; False if it cannot."""
        number, facts = self.described[name]
        if facts.get("channels") != list(stream.fitted.names):
            return False
        try:
            arrays = {part: self.arrays[f"{number}.{part}"] for part in ("past", "held")}
            stream.take_over(facts["state"], arrays)
        except (AttributeError, KeyError, TypeError, ValueError):
            return False
        return True

    def is_of(self, name: str, fitted: Fitted) -> bool:
        """Whether the state of this id is of this very fit."""
        return bool(self.described[name][1].get("model") == fingerprint(fitted))

    def _odd(self, error: Exception) -> ArtifactError:
        return ArtifactError(
            f"{self.folder} holds no sound state of a stream ({error})",
            "restore it, or start again without it",
        )


def fingerprint(fitted: Fitted) -> str:
    """Tells models apart by their channels, scale, calibration and configuration of streams."""
    facts = [
        fitted.names,
        fitted.scaler.to_dict(),
        fitted.calibration.to_dict(),
        fitted.aggregate,
        fitted.facts.get("stream"),
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
