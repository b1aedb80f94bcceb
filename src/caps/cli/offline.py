"""The offline side: `caps simulate`, `caps pretrain` and `caps inspect`."""

import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table

from caps.cli.options import Flag, Json
from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.replacing import check_file, check_folder

if TYPE_CHECKING:
    from caps.simulate import Summary

Part = Literal["reconstruction", "background", "disentanglement", "recombination", "organisation"]


def simulate(
    *,
    pairs: int = 48_000,
    out: Path | None = None,
    gallery: Path | None = None,
    seed: int = 0,
    workers: int = 1,
    json_output: Json = False,
) -> None:
    """Simulate matched normal and anomalous windows.

    Args:
        pairs: How many matched pairs.
        out: Folder to write the pairs to.
        gallery: PNG file to draw every operation to (needs matplotlib).
        seed: Same seed, same pairs, whatever the workers.
        workers: Processes that simulate.
    """
    if out is None and gallery is None:
        raise InputError("nothing to write", "give --out FOLDER, --gallery FILE.png or both")
    # scipy: two seconds that --help does without
    from caps.simulate import KIND, load_pairs, save_pairs, simulate_pairs, summarise

    if out is not None:
        check_folder(out, kind=KIND)
    if gallery is not None:
        check_file(gallery)
        from caps.inspection import draw_gallery  # torch: seconds that --out does without

        draw_gallery(gallery, seed=seed)
        if not json_output:
            print(f"gallery drawn to {gallery}")
    if out is None:
        return
    started = time.perf_counter()
    with progress_line() as line:
        batch = simulate_pairs(
            pairs,
            seed=seed,
            workers=workers,
            progress=lambda done, _: line("simulating", done / pairs),
        )
    rate = pairs / (time.perf_counter() - started)
    save_pairs(batch, out, seed=seed)
    summary = summarise(load_pairs(out))  # the figures are those of what was read back
    if json_output:
        print(json.dumps({"pairs_per_second": rate, **asdict(summary)}, indent=2))
    else:
        _show(summary, rate, out)


def _show(summary: "Summary", rate: float, out: Path) -> None:
    console = Console()
    console.print(f"{summary.pairs:,} pairs at {rate:,.0f} pairs/s, written to {out} and read back")
    balance = ", ".join(f"{name} {count:,}" for name, count in summary.families.items())
    console.print(f"families: {balance}")
    console.print(
        f"max |r| outside the support {summary.largest_outside:g}, largest value "
        f"{summary.largest_value:.2f}, hard cases {summary.hard:.1%}, cut {summary.cut:.1%}"
    )
    columns = ("operation", "pairs", "visible", "at first draw", "rms of r", "steps")
    table = Table(*columns, title="operations (medians)")
    for row in summary.operations:
        shares = f"{row.visible:.1%}", f"{row.first:.0%}"
        sizes = f"{row.residual:.2f}", f"{row.steps:.0f}"
        table.add_row(row.name, f"{row.pairs:,}", *shares, *sizes)
    console.print(table)


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
