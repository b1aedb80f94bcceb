"""`caps bench study`: run one of the studies, and record what came of it."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from caps.cli.bench import SetName, seed_numbers
from caps.cli.progress import ProgressLine
from caps.errors import CapsError, InputError
from caps.replacing import check_room


def study(
    name: str | None = None,
    /,
    *,
    list_names: Annotated[bool, Parameter(name="--list", negative="")] = False,
    out: Path = Path("studies"),
    page: Path | None = None,
    data: Annotated[list[Path] | None, Parameter(negative="")] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    set_name: Annotated[SetName | None, Parameter(name="--set")] = None,
    limit: int | None = None,
    seeds: str = "0",
    jobs: int = 1,
    weights: Path | None = None,
    preset: str | None = None,
    published: Path | None = None,
    manifest: Path | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Run one of the studies, or "all"; what was computed before is kept.

    Example: caps bench study ablations --quick --data TSB-AD-U.zip --out studies/

    Parameters
    ----------
    name
        Name of a study, or "all".
    list_names
        Print the names of all studies with their questions.
    out
        Folder of all studies; pages go to its subfolder "results".
    page
        Page to put the tables into as well, between the marks that bear their names.
    data
        Zip, folder or CSV file in the layout of TSB-AD; can be repeated.
    quick
        A few series and small pretrainings: minutes instead of hours.
    set_name
        A set of series as in caps bench run instead of all in the data.
    limit
        At most so many series of each dataset.
    seeds
        Seeds separated by commas.
    jobs
        Processes, each with one thread.
    weights
        Folder of the pretraining to study; the shipped one if left out.
    preset
        Preset of the pretrainings that a study makes itself.
    published
        CSV file of TSB-AD's VUS-PR per series, to compare with.
    manifest
        CSV file that says which series are proven to be those of TSB-AD.
    json_output
        Print the paths of the pages and their verdicts as JSON.
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
        _show_names({each: STUDIES[each].question for each in STUDIES}, json_output)
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
        run = StudyRun(
            out=out,
            files=files,
            quick=quick,
            seeds=seed_numbers(seeds),
            jobs=jobs,
            weights=weights,
            preset=None if preset is None else preset_named(preset),
            published=published,
            manifest=manifest,
            command=_command(each),
            say=line.say,
            progress=line.cell,
        )
        try:
            written, report = run_study(each, run)
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


def _show_names(questions: dict[str, str], json_output: bool) -> None:
    if json_output:
        print(json.dumps(questions))
        return
    width = max(map(len, questions))
    for name, question in questions.items():
        print(f"{name:{width}}  {question}")


def _command(name: str) -> str:
    """The command as typed, for one study, and without folders that are nobody's business."""
    words = [name if word == "all" else word for word in sys.argv[1:]]
    if name not in words:
        return ""
    shown = [Path(word).name if word.startswith(("/", "../", "~")) else word for word in words]
    start = ["python", "-m", "tools"] if Path(sys.argv[0]).name == "__main__.py" else ["caps"]
    return shlex.join([*start, *shown])
