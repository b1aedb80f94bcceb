"""Mistakes made by hand in the code that scores, one at a time: does some test notice each?

Each is made in a scratch copy of the tree, where the tests that should notice run until one fails.
A mistake whose text is no longer there exactly once is reported as gone: adapt or remove it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools import ROOT

COPIED = ("src", "tests", "docs", "pyproject.toml")
QUICK = 3  # mistakes
PATIENCE = 900  # seconds for the tests of one
SURROUNDINGS = {  # one thread, no stale bytecode, reasons in full
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": "src",
    "COLUMNS": "300",
}
FAILED = re.compile(r"^FAILED (\S+::[^\s\[]+).*?(?: - (.*))?$", re.MULTILINE)


def mutants(run: StudyRun) -> Report:
    """Make every mistake in a copy of the tree and run the tests that should notice it."""
    listed = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))
    chosen = [
        (file, facts["tests"], *mistake)
        for file, facts in listed.items()
        for mistake in facts["mistakes"]
    ][: QUICK if run.quick else None]
    rows: list[list[Entry]] = []
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
        for file, tests, what, right, wrong in chosen:
            by, why = noticed_by(copy, copy / "src" / "caps" / file, right, wrong, tests)
            noticed += "::" in by
            run.say(f"{file}, {what}: {by}")
            rows.append([file, what, by, why])
    return Report(
        "Mistakes that tests notice",
        [f"{len(chosen)} mistakes in the code that scores, made by hand, one at a time."],
        [Table("mutants", "Mistakes", ["file", "mistake", "noticed by", "as"], rows)],
        wanted=f"each of {len(chosen)} mistakes is noticed by a test; {noticed} were",
        passed=noticed == len(chosen),
    )


def noticed_by(copy: Path, path: Path, right: str, wrong: str, tests: str) -> tuple[str, str]:
    """Make a mistake in a copy of the tree: the first test that fails and why, or what happened."""
    text = path.read_text(encoding="utf-8")
    if text.count(right) != 1:
        return "gone", ""
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=short", str(path)]
    try:
        done = subprocess.run(
            [*command, *tests.split()],
            cwd=copy,
            env=os.environ | SURROUNDINGS,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return "broken", f"the tests took more than {PATIENCE} s"
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode == 0:
        return "missed", ""
    failed = FAILED.search(done.stdout)
    return (failed[1], failed[2] or "") if failed else ("broken", done.stdout[-200:])
