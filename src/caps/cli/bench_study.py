"""`caps bench study`: rerun one of the paper's studies."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from caps.cli.bench import numbers_in
from caps.cli.progress import ProgressLine
from caps.errors import CapsError, InputError
from caps.replacing import check_room


def study(
    name: str,
    /,
    *,
    out: Path,
    data: Annotated[list[Path] | None, Parameter(negative="")] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    set_name: Annotated[Literal["dev-mini", "dev", "full"] | None, Parameter(name="--set")] = None,
    limit: int | None = None,
    seeds: str = "0",
    jobs: int = 1,
    weights: Path | None = None,
    preset: str | None = None,
    json_output: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Run one of the paper's studies, or "all"; what was computed before is kept.

    Example: caps bench study ablations --quick --data TSB-AD-U.zip --out studies/

    Parameters
    ----------
    name
        ablations, supervised, contamination, natural-contamination, latent, recombination,
        coverage, modes, diagnosis, realization, diagnostics, architecture, prior, amount, cost,
        multivariate, context-gap, or all.
    out
        Folder of all studies; pages go to its subfolder "results".
    data
        Zip, folder or CSV file in the layout of TSB-AD; can be repeated.
    quick
        A few series and small pretrainings: minutes instead of hours.
    set_name
        A fixed set of series instead of all in the data.
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
    json_output
        Print the paths of the pages and their verdicts as JSON.
    """
    from caps.bench.datasets import find_series
    from caps.bench.selection import select, set_names
    from caps.bench.studies.catalogue import STUDIES, run_study
    from caps.bench.studies.study import StudyRun
    from caps.realize import preset_named

    wanted = list(STUDIES) if name == "all" else [name]
    if not set(wanted) <= set(STUDIES):
        raise InputError(f"there is no study {name!r}", f"choose from {', '.join(STUDIES)}, all")
    check_room(out)
    names = set_names(set_name) if set_name else None
    files = select(find_series(data), names=names, limit=limit) if data else []
    failed, line = False, ProgressLine()
    for each in wanted:
        run = StudyRun(
            out=out,
            files=files,
            quick=quick,
            seeds=numbers_in(seeds),
            jobs=jobs,
            weights=weights,
            preset=None if preset is None else preset_named(preset),
            command=_command(each),
            say=line.say,
            progress=line.cell,
        )
        try:
            page = run_study(each, run)
        except CapsError as error:
            if name != "all":
                raise
            line.say(f"left out {each}: {error.problem}; {error.remedy}")
            failed = True
            continue
        _show(page, json_output)
    if failed:
        sys.exit(1)


def _show(page: Path, json_output: bool) -> None:
    if not json_output:
        print(page.read_text(encoding="utf-8"))
        print(f"written {page}", file=sys.stderr)
        return
    facts = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    print(json.dumps({"study": facts["study"], "page": str(page), "verdict": facts["verdict"]}))


def _command(name: str) -> str:
    """The command as typed, for one study, and without folders that are nobody's business."""
    words = sys.argv[1:]
    if "study" not in words:
        return ""
    words = [name if word == "all" else word for word in words]
    shown = [Path(word).name if word.startswith(("/", "../", "~")) else word for word in words]
    return shlex.join(["caps", *shown])
