"""Deployment: `caps export` and `caps serve`."""

import json
from pathlib import Path

from caps.cli.options import Flag, Json, Model, PlannedFile, answer, secret_in
from caps.errors import InputError
from caps.jobs import ONE_THREAD, set_default_threads

TOKEN = "CAPS_TOKEN"


def export(model: Model, *, onnx: Path, json_output: Json = False) -> None:
    """Write a saved model as one ONNX file, scored by numpy and onnxruntime alone.

    Args:
        onnx: File to write: networks, scale, memory and calibration, all in one.
    """
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


def serve(
    folder: Path = Path("caps-service"),
    *,
    host: str = "127.0.0.1",
    port: int = 8100,
    token_file: Path | None = None,
    fits: int = 1,
    upload_mb: int = 256,
    pretrained: Path | None = None,
    planned: PlannedFile = None,
    refit_every: str | None = None,
    refit_review: Flag = False,
    json_output: Json = False,
) -> None:
    """Serve models over HTTP, with a page for a person with a CSV file.

    The token is read from --token-file or from the environment variable CAPS_TOKEN; every request
    then needs it. Without one, only this machine is answered.

    Args:
        folder: Where series and models are kept; created if needed.
        host: Address to listen on; others than this machine's own need a token.
        port: Port to listen on.
        token_file: File whose first line is the token.
        fits: Fits at a time, each on one core.
        upload_mb: Largest file that can be uploaded, in megabytes.
        pretrained: Folder of pretrained weights, instead of the shipped ones.
        refit_every: Fit a model again that is older than this, such as 7d, once its series was
            uploaded anew.
        refit_review: Let such a fit wait until somebody puts it in force.
    """
    set_default_threads(ONE_THREAD)  # each request in one, several requests at a time
    # a tenth of a second that --help does without
    from caps.planned import Planned
    from caps.serve import MEGABYTE, Settings, run_service
    from caps.watch import seconds_in

    if fits < 1 or upload_mb < 1:
        raise InputError("--fits and --upload-mb start at 1", "give positive whole numbers")
    if planned is not None:
        Planned.read(planned)  # a file that cannot be used is refused now
    settings = Settings(
        folder,
        host=host,
        port=port,
        token=secret_in(token_file, TOKEN),
        pretrained=pretrained,
        planned=planned,
        refit_every=None if refit_every is None else seconds_in(refit_every),
        refit_review=refit_review,
        fits=fits,
        upload_bytes=upload_mb * MEGABYTE,
    )

    def announce(address: str) -> None:
        facts = json.dumps({"address": address, "folder": str(folder)})
        text = f"CAPS serves {folder} at {address} (Ctrl-C stops it)"
        print(facts if json_output else text, flush=True)

    run_service(settings, announce)
