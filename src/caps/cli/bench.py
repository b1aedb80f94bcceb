"""`caps bench`: run methods on labelled series, make tables of the results, run the studies."""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from caps.cli.options import Engine, Flag, Json, group, names_in
from caps.cli.progress import ProgressLine, progress_line
from caps.errors import CapsError, InputError
from caps.replacing import check_room

# As in `caps.bench.selection`, which takes a second to import.
List = Literal[
    "tsb-ad-u-eva",
    "tsb-ad-m-eva",
    "tsb-ad-u-tuning",
    "tsb-ad-m-tuning",
    "eva",
    "dev-mini",
    "dev",
    "tune-short",
]
Set = Annotated[
    Literal[List, "tune", "full"] | None,
    Parameter(
        name="--set",
        help="tsb-ad-...: what the data hold of TSB-AD's own lists; eva: of both evaluation lists. "
        "tune, for choices: of the others at most 16 a dataset, one channel, to 40,000 rows; "
        "tune-short: 21 of these, for choices about the detector. "
        "dev-mini, dev: fixed lists, no longer for choices. Everything in the data if left out.",
    ),
]
LAYOUT = "Zip or CSV file in the layout of TSB-AD, or a folder of them; can be repeated."
Data = Annotated[list[Path], Parameter(negative="", help=LAYOUT)]
Limit = Annotated[int | None, Parameter(help="At most so many series of each dataset.")]
Seeds = Annotated[str, Parameter(help="Seeds separated by commas.")]
Jobs = Annotated[int, Parameter(help="Processes, each with one thread.")]

bench = group("bench", "Run every method on TSB-AD data and make the paper's tables.")


@bench.command
def run(
    *,
    data: Data,
    methods: str,
    out: Path,
    set_name: Set = None,
    files: Path | None = None,
    datasets: str | None = None,
    limit: Limit = None,
    seeds: Seeds = "0",
    save_scores: Flag = False,
    operator: Flag = False,
    retry_failed: Flag = False,
    jobs: Jobs = 1,
    minutes: float = 30.0,
    engine: Engine = "local",
    json_output: Json = False,
) -> None:
    """Compute the results that are missing; stop and start again at any time.

    Example: caps bench run --data TSB-AD-U.zip --methods caps,lof --out results/
    Example: caps bench run --data FOLDER --set tsb-ad-u-eva --methods caps,lof --out results/

    Args:
        methods: Names separated by commas, or "all".
        out: Folder for the results; those already there are kept.
        files: Text file with the names of series, one a line, instead of a set.
        datasets: Datasets to take, separated by commas.
        save_scores: Keep the scores of each whole series as .npy beside its result.
        operator: Also measure alarms at a budget of 1/1000 rows, in hindsight and live.
        retry_failed: Compute again what failed before.
        minutes: Limit of one method on one series.
    """
    # pandas: half a second that --help does without
    from caps.bench import (
        METHODS,
        find_series,
        listed_names,
        missing_of,
        run as run_cells,
        select,
        series_of,
    )

    if set_name is not None and files is not None:
        raise InputError("both --set and --files", "give one of them")
    check_room(out)
    wanted = list(METHODS) if methods == "all" else names_in(methods, "--methods caps,lof")
    found = find_series(data)
    of_datasets = None if datasets is None else names_in(datasets, "--datasets NAB,UCR")
    chosen = select(
        series_of(set_name, found) if set_name else found,
        names=listed_names(files) if files else None,
        datasets=of_datasets,
        limit=limit,
    )
    there = {file.name for file in found}
    missing = missing_of(set_name, there, of_datasets) if set_name else []
    with progress_line() as line:
        if missing:
            line.say(f"note: {_not_there(set_name, missing)} in the data; --json names them")
        state = run_cells(
            chosen,
            wanted,
            out,
            seeds=_seed_numbers(seeds),
            jobs=jobs,
            minutes=minutes,
            save_scores=save_scores,
            operator=operator,
            retry_failed=retry_failed,
            engine=engine,
            progress=line.cell,
        )
    if json_output:
        facts = {
            "cells": state.total,
            "there_before": state.skipped,
            "of_other_settings": state.outdated,
            "done": state.done,
            "failed": state.failed,
            "seconds": round(state.seconds, 2),
            "overhead": round(state.overhead, 4),
            "missing": missing,
        }
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
    set_name: Annotated[List | None, Parameter(name="--set")] = None,
    published: Annotated[list[Path] | None, Parameter(negative="")] = None,
    common: Flag = False,
    operator: Flag = False,
    apart: str | None = None,
    leaderboard: Path | None = None,
    json_output: Json = False,
) -> None:
    """Rebuild all tables from the results: printed as Markdown, written in four formats.

    Example: caps bench table results/
    Example: caps bench table results/ --set tsb-ad-u-eva --leaderboard leaderboard/

    Args:
        folder: Folder that `caps bench run` wrote to; the tables go to its subfolder "tables".
        set_name: List of series that count, and whose missing ones are told; all results if left
            out.
        published: CSV file of VUS-PR per series, as TSB-AD publishes them or of its leaderboard,
            to compare with; can be repeated.
        common: Use only the series that every method finished.
        operator: Print only the tables of alarms, of `caps bench run --operator`.
        apart: Datasets that get tables of alarms of their own and count in no other.
        leaderboard: Folder for one CSV file a method in the layout of TSB-AD's leaderboard.
    """
    # pandas: half a second that --help does without
    from caps.bench import (
        as_json,
        build_tables,
        markdown,
        missing_of,
        write_leaderboard,
        write_tables,
    )

    if leaderboard is not None:
        check_room(leaderboard)
    separate = () if apart is None else names_in(apart, "--apart TODS")
    tables, frame = build_tables(
        folder, set_name=set_name, published=published or (), common=common, apart=separate
    )
    written = write_tables(folder, tables, frame)
    files = [] if leaderboard is None else write_leaderboard(leaderboard, frame)
    missing = missing_of(set_name, set(frame["series"])) if set_name else []
    if operator:
        tables = [each for each in tables if each.name.startswith("operator_")]
        if not tables:
            raise InputError(
                f"{folder} holds no figures of alarms", "run caps bench run again with --operator"
            )
    if json_output:
        named = {each.name: as_json(each) for each in tables}
        facts = {**named, "missing": missing} if set_name else named
        print(json.dumps(facts, allow_nan=False))
        return
    print(markdown(tables, "Benchmark results"))
    print(f"written {written}", file=sys.stderr)
    if leaderboard is not None:
        print(f"written {leaderboard}: {len(files)} files of results", file=sys.stderr)
    if missing:
        note = f"note: {_not_there(set_name, missing)} among the results; --json names them"
        print(note, file=sys.stderr)


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

    Args:
        folder: Folder that `caps bench run --save-scores` wrote to.
        submission: Folder to write score/ and metrics/ to.
        methods: Names separated by commas; every method if left out.
        seed: Seed whose scores are taken.
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


@bench.command
def study(
    name: str | None = None,
    /,
    *,
    list_names: Annotated[Flag, Parameter(name="--list")] = False,
    out: Path = Path("studies"),
    page: Path | None = None,
    data: Annotated[list[Path] | None, Parameter(negative="", help=LAYOUT)] = None,
    quick: Flag = False,
    set_name: Set = None,
    limit: Limit = None,
    seeds: Seeds = "0",
    jobs: Jobs = 1,
    weights: Path | None = None,
    preset: str | None = None,
    published: Path | None = None,
    json_output: Json = False,
) -> None:
    """Run one of the paper's studies; --list names them with their questions.

    Example: caps bench study ablations --quick --data TSB-AD-U.zip --out studies/

    Args:
        name: Name of a study, or "all"; what was computed before is kept.
        list_names: Print the names of all studies with their questions.
        out: Folder of all studies; pages go to its subfolder "results".
        page: Page to put the tables into as well, between the marks that bear their names.
        quick: A few series and small pretrainings: minutes instead of hours.
        weights: Folder of the pretraining to study; the shipped one if left out.
        preset: Preset of the pretrainings that a study makes itself.
        published: CSV file of TSB-AD's VUS-PR per series, to compare with.
    """
    # Studies need torch, which takes seconds to import; the help does not.
    from caps.bench import (
        STUDIES,
        StudyRun,
        find_series,
        run_study,
        select,
        series_of,
        write_sections,
    )
    from caps.realize import preset_named

    if list_names or name is None:
        width = max(map(len, STUDIES))
        lines = [f"{each:{width}}  {STUDIES[each].question}" for each in STUDIES]
        questions = json.dumps({each: STUDIES[each].question for each in STUDIES})
        print(questions if json_output else "\n".join(lines))
        return
    wanted = list(STUDIES) if name == "all" else [name]
    if not set(wanted) <= set(STUDIES):
        raise InputError(f"there is no study {name!r}", f"choose from {', '.join(STUDIES)}, all")
    if page is not None and not page.is_file():
        raise InputError(f"{page} does not exist", "name a page with marks for the tables")
    check_room(out)
    files = find_series(data) if data else []
    if files:
        files = select(series_of(set_name, files) if set_name else files, limit=limit)
    failed, line = False, ProgressLine()
    for each in wanted:
        study_run = StudyRun(
            out=out,
            files=files,
            quick=quick,
            seeds=_seed_numbers(seeds),
            jobs=jobs,
            weights=weights,
            preset=None if preset is None else preset_named(preset),
            published=published,
            command=_command(each),
            say=line.say,
            progress=line.cell,
        )
        try:
            written, report = run_study(each, study_run)
        except CapsError as error:
            if name != "all":
                raise
            line.say(f"left out {each}: {error.problem}; {error.remedy}")
            failed = True
            continue
        if page is not None:
            write_sections(page, report.tables)
        failed |= not report.passed
        if json_output:
            facts = {"study": each, "page": str(written), "verdict": list(report.verdict)}
            print(json.dumps({**facts, "passed": report.passed}))
        else:
            print(written.read_text(encoding="utf-8"))
            print(f"written {written}", file=sys.stderr)
    if failed:
        sys.exit(1)


def _not_there(set_name: str | None, missing: list[str]) -> str:
    return f"{len(missing)} series of {set_name} are not"


def _seed_numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in names_in(text, "--seeds 0,1,2")]
    except ValueError:
        raise InputError(f"--seeds {text!r}", "give whole numbers like 0,1,2") from None


def _command(name: str) -> str:
    """The command as typed, for one study, and without folders that are nobody's business."""
    words = [name if word == "all" else word for word in sys.argv[1:]]
    if name not in words:
        return ""
    shown = [Path(word).name if word.startswith(("/", "../", "~")) else word for word in words]
    start = ["python", "-m", "tools"] if Path(sys.argv[0]).name == "__main__.py" else ["caps"]
    return shlex.join([*start, *shown])
