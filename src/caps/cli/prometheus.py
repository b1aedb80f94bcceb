"""Fits on what Prometheus knows: `caps fit --prometheus` and `caps fleet fit --config`."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from caps.cli.options import queries_in
from caps.cli.progress import progress_line
from caps.errors import CapsError, InputError
from caps.estimator import CAPS
from caps.fleet import Entry, file_name
from caps.renewal import entries_of
from caps.replacing import check_folder, check_room
from caps.scoring import KIND, FitOptions
from caps.watch import SourceConfig, history_of, read_config, seconds_in


def fit_queries(
    url: str,
    queries: tuple[str, ...],
    step: str | None,
    since: str | None,
    out: Path,
    options: FitOptions,
    known: Sequence[Any],
) -> tuple[dict[str, Any], list[str]]:
    """Fit one model for each series of the queries; the outcome as facts and as lines."""
    source = SourceConfig(
        prometheus=url,
        queries=queries_in(queries),
        step=seconds_in(step or "1m"),
        since=None if since is None else seconds_in(since),
    )
    options = replace(options, causal=True)  # a watch knows the past alone
    check_room(out)
    fitted: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    with progress_line() as progress:
        progress.begin("asking Prometheus")
        found = history_of(source, time.time())
        for number, (name, series) in enumerate(found.items(), start=1):
            progress.begin(f"learning {number:,} of {len(found):,}: {name}")
            folder = out / file_name(name)
            try:
                check_folder(folder, kind=KIND)
                model = CAPS(**options.parameters()).fit(series, known_anomalies=known)
                out.mkdir(parents=True, exist_ok=True)
                model.save(folder)
            except CapsError as error:
                refused[name] = str(error)
                continue
            fitted[name] = {
                "model": str(folder),
                "rows": len(series),
                "threshold": model.threshold_,
                "notes": list(dict.fromkeys([*series.notes(), *model.notes_])),
            }
    if not fitted:
        name, why = next(iter(refused.items()))
        raise InputError(f"no series could be fitted; {name}: {why}", "give a longer --since")
    asked = " ".join(f"--query '{query}'" for query in queries)
    lines = [
        *(f"{name}: {facts['rows']:,} rows" for name, facts in fitted.items()),
        *(f"not fitted: {name}: {why}" for name, why in refused.items()),
        f"written {out}; watch with: caps watch {out} --prometheus {url} {asked} "
        f"--step {step or '1m'}",
    ]
    return {"models": fitted, "refused": refused, "alarms": options.alarms}, lines


def configured(path: Path) -> tuple[list[Entry], Path, FitOptions]:
    """The series of a configuration's sources, where their models go, and how they are fitted."""
    config, now = read_config(path), time.time()
    assert config.fit_out is not None
    return entries_of(config, now), config.fit_out, config.fit_options()
