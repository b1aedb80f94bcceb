"""`caps fleet refit`: which models, and what is shown of the new versions."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from caps.errors import InputError
from caps.fleet import find_series
from caps.renewal import Renewal, fleet_renewals, renewals
from caps.watch import Refits, read_config

MOST_LISTED = 30  # new versions on screen


def fleet_of(
    toml: Path | None,
    source: Path | None,
    models: Path | None,
    refits: Refits,
    **found: Any,
) -> list[Renewal]:
    """The models of a configuration, or of a folder of a fleet, with their recent past."""
    if toml is not None:
        if source is not None or models is not None or refits != Refits():
            raise InputError("--config and other options at once", "say everything in the file")
        return renewals(read_config(toml), time.time())
    if source is None or models is None:
        raise InputError("nothing to fit again", "name the recent past and --models, or --config")
    folder = models / "models" if (models / "models").is_dir() else models
    tasks = fleet_renewals(find_series(source, **found), folder, refits)
    if not tasks:
        raise InputError(f"{models} has no model of these series", "fit them first")
    return tasks


def show(done: Sequence[dict[str, Any]], waits: bool, json_output: bool) -> None:
    """What each new version changes in the last month, and what went wrong."""
    made = [each for each in done if "version" in each]
    if json_output:
        print(json.dumps({"looked_at": len(done), "waits": waits, "series": list(done)}, indent=2))
        return
    console = Console(highlight=False)
    head = f"{len(made)} of {len(done)} models fitted again"
    console.print(f"{head}, beside those in force" if waits and made else head, style="bold")
    if made:
        table = Table("series", "version", "why", "gained", "lost", "kept")
        for each in made[:MOST_LISTED]:
            change = each["change"] or {"gained": [], "lost": [], "kept": 0}
            counts = [len(change["gained"]), len(change["lost"]), change["kept"]]
            table.add_row(each["series"], each["version"], each["why"], *map(str, counts))
        console.print(table)
        console.print("alarms of the last month", style="dim")
    for each in done:
        if "problem" in each:
            console.print(f"failed: {each['series']}: {each['problem']}", markup=False)
