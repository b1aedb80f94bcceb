"""The file: an ONNX model with a description in its metadata, and a seal at its end.

The seal is one more entry of the metadata, the SHA-256 of all bytes before it. Repeated fields of
a protobuf message may come in pieces, so the sealed file is an ONNX model like any other.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caps.errors import ArtifactError
from caps.json_text import parse_json

DESCRIPTION = "caps"  # key in the metadata
KIND, VERSION = "caps.onnx", 5
WINDOWS, CHANNEL, LOGITS = "windows", "channel", "logits"  # inputs and output of the graph

_KEY = b"caps.sha256"
_HEX = 64
# Field 14 of a ModelProto, metadata_props: an entry of a key (field 1) and a value (field 2).
_ENTRY = b"\x0a" + bytes([len(_KEY)]) + _KEY + b"\x12" + bytes([_HEX])
_SEAL = b"\x72" + bytes([len(_ENTRY) + _HEX]) + _ENTRY


def sealed(model: bytes) -> bytes:
    """The serialized model with its seal."""
    return model + _SEAL + hashlib.sha256(model).hexdigest().encode()


def read_sealed(path: Path) -> bytes:
    """The content of a file whose every byte is as written."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise ArtifactError(f"{path} is no file", "name a file written by caps export") from None
    model, seal = content[: -len(_SEAL) - _HEX], content[-len(_SEAL) - _HEX :]
    if not seal.startswith(_SEAL):
        raise ArtifactError(
            f"{path} is truncated, or caps export did not write it", "export the model again"
        )
    if hashlib.sha256(model).hexdigest().encode() != seal[len(_SEAL) :]:
        raise ArtifactError(f"{path} was edited (its SHA-256 differs)", "export the model again")
    return content


def described(facts: Mapping[str, Any], banks: Sequence[np.ndarray]) -> str:
    """The description as text; training rows go in as float32, little-endian, in base 64."""
    rows = [base64.b64encode(np.asarray(bank, dtype="<f4").tobytes()).decode() for bank in banks]
    own = {"kind": KIND, "version": VERSION}
    return json.dumps({**own, **facts, "banks": rows}, allow_nan=False, separators=(",", ":"))


def read_description(text: str | None) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The facts and training rows of `described`."""
    try:
        facts = parse_json(text or "null")
    except ValueError as error:
        raise ArtifactError(f"its description is no JSON ({error})", "export it again") from None
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise ArtifactError("it holds no description by CAPS", "name a file of caps export")
    version = facts.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ArtifactError(
            f"it has format version {version!r}, this CAPS reads up to {VERSION}",
            "upgrade caps-tsad",
        )
    if version < VERSION:  # its calibration belongs to another way of scoring
        raise ArtifactError(
            f"it has format version {version}, this CAPS reads from {VERSION} on",
            "fit the model and export it again, or score it with the older caps-tsad",
        )
    rows = [base64.b64decode(bank, validate=True) for bank in facts["banks"]]
    return facts, [np.frombuffer(bank, dtype="<f4").astype(np.float32) for bank in rows]
