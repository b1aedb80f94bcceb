"""`caps export`: a saved model as one file that is scored without torch."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.jobs import set_default_threads


def export(
    model: Path,
    *,
    onnx: Path,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Write a saved model as one ONNX file, scored by numpy and onnxruntime alone.

    Parameters
    ----------
    model
        Folder written by `caps fit` or `caps detect`.
    onnx
        File to write: networks, scale, memory and calibration, all in one.
    json_output
        Print JSON instead of text.
    """
    set_default_threads()
    # Here: torch takes seconds, which `caps --help` does not need.
    from caps.estimator import CAPS
    from caps.export import write_onnx

    fitted = CAPS.load(model)
    written = write_onnx(fitted, onnx)
    if json_output:
        facts = {
            "file": str(written.path),
            "bytes": written.size,
            "channels": list(fitted.fitted_.names),
            "causal": fitted.fitted_.causal,
            "largest_difference": written.difference,
        }
        print(json.dumps(facts, indent=2))
        return
    print(f"written {written.path}, {written.size / 1e6:.2f} MB")
    print(f"scores of training rows differ from the model's by at most {written.difference:.1g}")
