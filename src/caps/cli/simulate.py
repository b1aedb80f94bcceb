"""`caps simulate`: write matched pairs to a folder, or draw the gallery of operations."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.replacing import check_file, check_folder

if TYPE_CHECKING:
    from caps.simulate import Summary


def simulate(
    *,
    pairs: Annotated[int, Parameter(help="How many matched pairs.")] = 48_000,
    out: Annotated[Path | None, Parameter(help="Folder to write the pairs to.")] = None,
    gallery: Annotated[
        Path | None, Parameter(help="PNG file to draw every operation to (needs matplotlib).")
    ] = None,
    seed: Annotated[int, Parameter(help="Same seed, same pairs, whatever the workers.")] = 0,
    workers: Annotated[int, Parameter(help="Processes that simulate.")] = 1,
    json_: Annotated[bool, Parameter(name="--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Simulate matched normal and anomalous windows.

    Example: caps simulate --pairs 48000 --out pairs/ --workers 2
    Example: caps simulate --gallery gallery.png
    """
    if out is None and gallery is None:
        raise InputError("nothing to write", "give --out FOLDER, --gallery FILE.png or both")
    from caps.simulate import KIND  # scipy: two seconds that --help does without

    if out is not None:
        check_folder(out, kind=KIND)
    if gallery is not None:
        check_file(gallery)
        from caps.inspection import draw_gallery  # torch: seconds that --out does without

        draw_gallery(gallery, seed=seed)
        if not json_:
            print(f"gallery drawn to {gallery}")
    if out is not None:
        summary, seconds = _write(pairs, out, seed, workers)
        if json_:
            print(json.dumps({"pairs_per_second": pairs / seconds, **asdict(summary)}, indent=2))
        else:
            _show(summary, pairs / seconds, out)


def _write(pairs: int, out: Path, seed: int, workers: int) -> tuple["Summary", float]:
    """Simulate, write, read back; the figures are those of what was read."""
    # scipy: two seconds that --help does without
    from caps.simulate import load_pairs, save_pairs, simulate_pairs, summarise

    started = time.perf_counter()
    with progress_line() as line:
        batch = simulate_pairs(
            pairs,
            seed=seed,
            workers=workers,
            progress=lambda done, _: line("simulating", done / pairs),
        )
    seconds = time.perf_counter() - started
    save_pairs(batch, out, seed=seed)
    return summarise(load_pairs(out)), seconds


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
        table.add_row(
            row.name,
            f"{row.pairs:,}",
            f"{row.visible:.1%}",
            f"{row.first:.0%}",
            f"{row.residual:.2f}",
            f"{row.steps:.0f}",
        )
    console.print(table)
