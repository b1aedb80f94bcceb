"""`caps export`: a saved model as one file that is scored without torch."""

from pathlib import Path

from caps.cli.options import Json, Model, answer
from caps.jobs import set_default_threads


def export(model: Model, *, onnx: Path, json_output: Json = False) -> None:
    """Write a saved model as one ONNX file, scored by numpy and onnxruntime alone.

    Args:
        onnx: File to write: networks, scale, memory and calibration, all in one.
    """
    set_default_threads()
    # Here: torch takes seconds, which `caps --help` does not need.
    from caps.estimator import CAPS
    from caps.export import write_onnx

    fitted = CAPS.load(model)
    written = write_onnx(fitted, onnx)
    facts = {
        "file": str(written.path),
        "bytes": written.size,
        "channels": list(fitted.fitted_.names),
        "causal": fitted.fitted_.causal,
        "largest_difference": written.difference,
    }
    answer(
        facts,
        json_output,
        f"written {written.path}, {written.size / 1e6:.2f} MB",
        f"scores of training rows differ from the model's by at most {written.difference:.1g}",
    )
