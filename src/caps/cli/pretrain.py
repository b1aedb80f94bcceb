"""`caps pretrain`: learn representation, experts and router from simulation."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from caps.cli.options import Json
from caps.cli.progress import progress_line
from caps.jobs import set_default_threads

Part = Literal["reconstruction", "background", "disentanglement", "recombination", "organisation"]


def pretrain(
    *,
    out: Path,
    preset: Literal["cpu", "paper", "tiny"] = "cpu",
    pairs: int | None = None,
    steps: int | None = None,
    mechanism: Literal["diffusion", "sequence", "vae"] = "diffusion",
    clusters: int = 0,
    prior: Literal["diagonal", "isotropic", "full", "student"] = "diagonal",
    without: tuple[Part, ...] = (),
    seed: int = 0,
    resume: bool = False,
    minutes: float | None = None,
    check_pairs: int | None = None,
    workers: int = 2,
    accelerator: str = "cpu",
    devices: int = 1,
    json_output: Json = False,
) -> None:
    """Learn everything CAPS needs from simulation. Users need not: weights ship with the package.

    Args:
        out: Folder for the result; checkpoints go to a folder beside it with "-work" at its end.
        preset: cpu: two cores, under three hours. paper: the paper's sizes, for a GPU. tiny: for
            tests.
        pairs: Number of simulated pairs, instead of the preset's.
        steps: Training steps of each stage, instead of the preset's; for trying a preset out.
        mechanism: What the experts are: diffusion of residuals, of whole sequences, or a VAE of
            residuals.
        clusters: Number of K-means modes instead of the three families.
        prior: Form of the modes' priors.
        without: Part of the representation objective to leave out; can be repeated.
        seed: Seed of simulation, initial weights and training.
        resume: Go on where an earlier sitting ended or was killed.
        minutes: Stop after this time with a checkpoint; go on later with --resume.
        check_pairs: Unseen pairs behind the figures at the end, 3,000 by default; few for large
            nets on a CPU.
        workers: Processes for simulation.
        accelerator: cpu or cuda.
        devices: Number of training processes or GPUs.
    """
    set_default_threads()
    # torch: two seconds that --help does without
    from caps.realize import Pretraining, preset_named, resized, size_table
    from caps.training import start_fabric

    chosen = resized(preset_named(preset), pairs=pairs, steps=steps)
    variant = replace(chosen.realize, mechanism=mechanism, clusters=clusters, prior=prior)
    objective = replace(chosen.objective, **dict.fromkeys(without, 0.0))
    chosen = replace(chosen, realize=variant, objective=objective)
    table = Table("component", "paper", f"preset {chosen.name}")
    for row in size_table(chosen):
        table.add_row(*row)
    Console(stderr=True).print(table)
    fabric = start_fabric(accelerator, devices, precision=chosen.precision)
    with progress_line() as line:
        run = Pretraining(
            chosen,
            out,
            seed=seed,
            resume=resume,
            minutes=minutes,
            workers=workers,
            checked=check_pairs,
            fabric=fabric,
            progress=lambda: line,
            say=line.say,
        )
        result = run.result()
    if not fabric.is_global_zero:
        return
    if result is None:
        line.say("time is up; go on with the same command and --resume")
        return
    checks = result.facts["checks"]
    if json_output:
        print(json.dumps(checks))
        return
    _print_checks(checks)
    line.say(f"written to {out}; checkpoints in {run.work} can be deleted")


def _print_checks(checks: dict[str, Any]) -> None:
    console = Console()
    table = Table("figure on unseen pairs", "value")
    for name, value in checks["representation"].items():
        table.add_row(name, f"{value:.3f}")
    console.print(table)
    modes = {name: figures for name, figures in checks["realization"].items() if name != "router"}
    table = Table("expert", *modes)
    for name in next(iter(modes.values())):
        table.add_row(name, *(f"{figures[name]:.3f}" for figures in modes.values()))
    console.print(table)
    console.print(f"router accuracy {checks['realization']['router']['accuracy']:.3f}")
