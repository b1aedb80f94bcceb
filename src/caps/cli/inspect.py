"""`caps inspect`: figures and one HTML page of a pretraining."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.errors import InputError


def inspect(
    folder: Path | None = None,
    /,
    *,
    out: Path = Path("inspect"),
    pairs: int = 900,
    seed: int | None = None,
    samplers: Annotated[bool, Parameter(negative="")] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Draw what pretrained weights make of unseen simulated pairs, as PNG files and one HTML page.

    Parameters
    ----------
    folder
        Folder written by `caps pretrain`; without it, the weights shipped with CAPS.
    out
        Folder for the page and its figures.
    pairs
        Number of unseen pairs to simulate.
    seed
        Seed of the unseen pairs; by default the one after the training's (1 for the shipped ones).
    samplers
        Also compare samplers and steps in quality and cost, which takes some minutes.
    json_output
        Print the figures as JSON.
    """
    # Idle OpenMP threads that spin slow the networks down many times on a shared machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    # Torch takes seconds, which `caps --help` does not pay.
    from caps.inspection import SAMPLERS, inspect_pretrained
    from caps.realize import Pretrained

    if folder is not None and not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "name one written by caps pretrain")
    figures = inspect_pretrained(
        Pretrained.load(folder),
        out,
        pairs=pairs,
        seed=seed,
        samplers=SAMPLERS if samplers else (),
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if json_output:
        print(json.dumps(figures))
        return
    for name, share in figures["neighbours"].items():
        print(f"{name}: {share:.3f}")
    print(f"router accuracy: {figures['router']['accuracy']:.3f}")
    print(f"open {figures['page']}")
