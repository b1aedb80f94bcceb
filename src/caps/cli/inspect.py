"""`caps inspect`: figures and one HTML page of a pretraining."""

import json
import sys
from pathlib import Path

from caps.cli.options import Flag, Json
from caps.errors import InputError
from caps.jobs import set_default_threads


def inspect(
    folder: Path | None = None,
    /,
    *,
    out: Path = Path("inspect"),
    pairs: int = 900,
    seed: int | None = None,
    samplers: Flag = False,
    json_output: Json = False,
) -> None:
    """Draw what pretrained weights make of unseen simulated pairs, as PNG files and one HTML page.

    Args:
        folder: Folder written by `caps pretrain`; without it, the weights shipped with CAPS.
        out: Folder for the page and its figures.
        pairs: Number of unseen pairs to simulate.
        seed: Seed of the unseen pairs; by default the one after the training's (1 for the shipped
            ones).
        samplers: Also compare samplers and steps in quality and cost, which takes some minutes.
    """
    set_default_threads()
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
