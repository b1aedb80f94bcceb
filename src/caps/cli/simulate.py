"""`caps simulate`: write matched pairs to a folder, or draw the gallery of operations."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from caps.cli.options import Json
from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.replacing import check_file, check_folder

if TYPE_CHECKING:
    from caps.simulate import Summary


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
