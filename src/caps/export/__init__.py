"""The small artefact: a fitted model as one ONNX file, scored by numpy and onnxruntime alone."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.export.model import OnnxModel as OnnxModel
    from caps.export.writing import Exported as Exported, write_onnx as write_onnx

__getattr__ = on_first_use(__name__)
