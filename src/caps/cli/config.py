"""`caps config`: check caps.toml, print the dashboard."""

import json
import sys
from pathlib import Path

from caps.cli.options import Json, answer, group
from caps.watch import ConfigError, grafana_dashboard, read_config

config = group("config", "Check caps.toml, or print the dashboard for Grafana.")


@config.command
def check(file: Path = Path("caps.toml"), *, json_output: Json = False) -> None:
    """Say everything that is wrong in a configuration, with its line and the remedy.

    Example: caps config check caps.toml

    Args:
        file: The configuration.
    """
    try:
        found = read_config(file)
    except ConfigError as error:
        problems = [
            {"line": each.line, "problem": each.what, "remedy": each.remedy}
            for each in error.problems
        ]
        lines = [
            f"{file}:{each.line}: {each.what}\n  fix: {each.remedy}" for each in error.problems
        ]
        answer({"ok": False, "problems": problems}, json_output, *lines)
        sys.exit(2)
    facts = {
        "ok": True,
        "sources": [each.name or each.prometheus or each.file for each in found.sources],
        "sinks": [each.name for each in found.sinks],
        "series": [each.match for each in found.series],
        "planned": [each.name for each in found.planned.entries],
    }
    counts = ", ".join(
        f"{len(facts[name])} {name}"  # type: ignore[arg-type]
        for name in ("sources", "sinks", "series", "planned")
    )
    answer(facts, json_output, f"{file} is sound: {counts}")


@config.command
def dashboard(*, json_output: Json = False) -> None:
    """Print a dashboard for Grafana over what `caps watch --listen` serves.

    Example: caps config dashboard > caps-dashboard.json
    """
    found = grafana_dashboard()
    print(json.dumps(found) if json_output else json.dumps(found, indent=1) + "\n", end="")
