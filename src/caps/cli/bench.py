"""`caps bench`: run methods on labelled series, make tables of the results."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from caps.cli.options import names_in
from caps.cli.progress import progress_line
from caps.errors import InputError
from caps.replacing import check_room

SetName = Literal["dev-mini", "dev", "tune", "eva", "full"]
Json = Annotated[bool, Parameter(name="--json", negative="")]

bench = App(
    name="bench",
    help="Run every method on TSB-AD data and make the paper's tables.",
    help_epilogue="Each command takes --json.",
    help_format="plaintext",
)
bench.command(
    "caps.cli.bench_study:study",
    name="study",
    help="Run one of the paper's studies; --list names them with their questions.\n\n"
    "Example: caps bench study ablations --quick --data TSB-AD-U.zip --out studies/",
)


@bench.command
def run(
    *,
    data: Annotated[list[Path], Parameter(negative="")],
    methods: str,
    out: Path,
    set_name: Annotated[SetName | None, Parameter(name="--set")] = None,
    files: Path | None = None,
    datasets: str | None = None,
    limit: int | None = None,
    seeds: str = "0",
    save_scores: Annotated[bool, Parameter(negative="")] = False,
    operator: Annotated[bool, Parameter(negative="")] = False,
    retry_failed: Annotated[bool, Parameter(negative="")] = False,
    jobs: int = 1,
    minutes: float = 30.0,
    engine: Literal["local", "ray"] = "local",
    json_output: Json = False,
) -> None:
    """Compute the results that are missing; stop and start again at any time.

    Example: caps bench run --data TSB-AD-U.zip --methods caps,lof --out results/
    Example: caps bench run --data FOLDER --set eva --methods caps,lof --operator --out results/

    Parameters
    ----------
    data
        Zip or CSV file in the layout of TSB-AD, or a folder of them; can be repeated.
    methods
        Names separated by commas, or "all".
    out
        Folder for the results; those already there are kept.
    set_name
        dev-mini, dev: fixed lists. eva: what the data hold of TSB-AD's evaluation lists. tune: of
        the others at most 16 a dataset, one channel, to 40,000 rows. Everything if left out.
    files
        Text file with the names of series, one a line, instead of a set.
    datasets
        Datasets to take, separated by commas.
    limit
        At most so many series of each dataset.
    seeds
        Seeds separated by commas.
    save_scores
        Keep the scores of each whole series as .npy beside its result.
    operator
        Also measure alarms at a budget of 1/1000 rows, in hindsight and live: one more fit.
    retry_failed
        Compute again what failed before.
    jobs
        Processes, each with one thread.
    minutes
        Limit of one method on one series.
    engine
        local: processes on this machine. ray: tasks of a Ray cluster (extra "ray").
    json_output
        Print the counts as JSON.
    """
    # pandas and scikit-learn: a second that --help does without
    from caps.bench import METHODS, find_series, listed_names, select, series_of
    from caps.bench import run as run_cells

    if set_name is not None and files is not None:
        raise InputError("both --set and --files", "give one of them")
    check_room(out)
    wanted = list(METHODS) if methods == "all" else names_in(methods, "--methods caps,lof")
    found = find_series(data)
    chosen = select(
        series_of(set_name, found) if set_name else found,
        names=listed_names(files) if files else None,
        datasets=None if datasets is None else names_in(datasets, "--datasets NAB,UCR"),
        limit=limit,
    )
    with progress_line() as line:
        state = run_cells(
            chosen,
            wanted,
            out,
            seeds=seed_numbers(seeds),
            jobs=jobs,
            minutes=minutes,
            save_scores=save_scores,
            operator=operator,
            retry_failed=retry_failed,
            engine=engine,
            progress=line.cell,
        )
    facts = {
        "cells": state.total,
        "there_before": state.skipped,
        "of_other_settings": state.outdated,
        "done": state.done,
        "failed": state.failed,
        "seconds": round(state.seconds, 2),
        "overhead": round(state.overhead, 4),
    }
    if json_output:
        print(json.dumps(facts))
    else:
        print(
            f"{state.total} cells: {state.skipped} there before, {state.done} done, "
            f"{state.failed} failed; {state.seconds:.0f} s, {100 * state.overhead:.1f} % of it "
            f"overhead\ntables: caps bench table {out}"
        )
        if state.outdated:
            print(
                f"note: {state.outdated} results of the same methods with other settings stay in "
                f"{out}; the tables name them method@settings"
            )
    if state.failed and not state.done:
        sys.exit(1)


@bench.command
def table(
    folder: Path,
    *,
    published: Annotated[list[Path] | None, Parameter(negative="")] = None,
    common: Annotated[bool, Parameter(negative="")] = False,
    operator: Annotated[bool, Parameter(negative="")] = False,
    apart: str | None = None,
    json_output: Json = False,
) -> None:
    """Rebuild all tables from the results: printed as Markdown, written in four formats.

    Example: caps bench table results/
    Example: caps bench table results/ --operator --apart TODS

    Parameters
    ----------
    folder
        Folder that `caps bench run` wrote to; the tables go to its subfolder "tables".
    published
        CSV file of TSB-AD's VUS-PR per series, to compare with; can be repeated.
    common
        Use only the series that every method finished.
    operator
        Print only the tables of alarms, of results made with `caps bench run --operator`.
    apart
        Datasets separated by commas that get tables of alarms of their own and count in no other.
    json_output
        Print the tables as JSON.
    """
    # pandas: half a second that --help does without
    from caps.bench import as_json, build_tables, markdown, write_tables

    separate = () if apart is None else names_in(apart, "--apart TODS")
    tables, frame = build_tables(folder, published=published or (), common=common, apart=separate)
    written = write_tables(folder, tables, frame)
    if operator:
        tables = [each for each in tables if each.name.startswith("operator_")]
        if not tables:
            raise InputError(
                f"{folder} holds no figures of alarms", "run caps bench run again with --operator"
            )
    if json_output:
        print(json.dumps({each.name: as_json(each) for each in tables}, allow_nan=False))
        return
    print(markdown(tables, "Benchmark results"))
    print(f"written {written}", file=sys.stderr)


@bench.command
def scores(
    folder: Path,
    *,
    submission: Path,
    methods: str | None = None,
    seed: int = 0,
    json_output: Json = False,
) -> None:
    """Export saved scores in the layout of TSB-AD's own scripts.

    Example: caps bench scores results/ --submission tsb-ad/ --methods caps

    Parameters
    ----------
    folder
        Folder that `caps bench run --save-scores` wrote to.
    submission
        Folder to write score/ and metrics/ to.
    methods
        Names separated by commas; every method if left out.
    seed
        Seed whose scores are taken.
    json_output
        Print the counts as JSON.
    """
    from caps.bench import export_scores  # pandas: half a second that --help does without

    check_room(submission)
    wanted = None if methods is None else names_in(methods, "--methods caps,lof")
    facts = asdict(export_scores(folder, submission, methods=wanted, seed=seed))
    if json_output:
        print(json.dumps(facts))
        return
    print(f"written {submission}: {', '.join(facts['methods'])} on {facts['series']} series")
    for name, reason in (
        ("failed", "failed"),
        ("without_scores", "were run without --save-scores"),
        ("with_gaps", "have missing values, whose rows TSB-AD drops"),
    ):
        if facts[name]:
            print(f"note: left out {facts[name]} results that {reason}")


def seed_numbers(text: str) -> list[int]:
    """The seeds in a comma-separated option."""
    try:
        return [int(word) for word in names_in(text, "--seeds 0,1,2")]
    except ValueError:
        raise InputError(f"--seeds {text!r}", "give whole numbers like 0,1,2") from None
