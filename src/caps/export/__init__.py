"""The small artefact: a fitted model as one ONNX file, scored by numpy and onnxruntime alone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caps.export.model import OnnxModel
    from caps.export.writing import Exported, write_onnx

# Resolved on first use: writing needs torch, scoring must not.
_HOMES = {
    "Exported": "caps.export.writing",
    "OnnxModel": "caps.export.model",
    "write_onnx": "caps.export.writing",
}

__all__ = ["Exported", "OnnxModel", "write_onnx"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'caps.export' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
