"""Mistakes made by hand in the code that scores, one at a time: does some test notice each?

Each is made in a scratch copy of the tree, where the tests that should notice run until one fails.
A mistake whose text is no longer there exactly once is reported as gone: adapt or remove it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun

TREE = Path(__file__).parents[2]
COPIED = ("src", "tests", "docs", "pyproject.toml")
QUICK = 3  # mistakes
SURROUNDINGS = {  # one thread, no stale bytecode, reasons in full
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "COLUMNS": "300",
}

Tests = Callable[[list[str]], tuple[int, str]]  # arguments of pytest; its exit code and output


class Mistake(NamedTuple):
    """One wrong piece of text in a file, and the tests that should notice it."""

    file: str  # below src/caps
    what: str
    right: str
    wrong: str
    tests: str


class Outcome(NamedTuple):
    """What became of a mistake."""

    what: str  # noticed, missed, gone or broken
    by: str = ""  # the test that failed first
    why: str = ""


def mutants(run: StudyRun) -> Report:
    """Make every mistake in a copy of the tree and run the tests that should notice it."""
    rows: list[list[Entry]] = []
    noticed = 0
    chosen = mistakes()[: QUICK if run.quick else None]
    with tempfile.TemporaryDirectory() as folder:
        copy = _copied(Path(folder))
        with testing(copy) as tests:
            for mistake in chosen:
                outcome = attempted(copy, mistake, tests)
                noticed += outcome.what == "noticed"
                run.say(f"{mistake.file}, {mistake.what}: {outcome.what} {outcome.by}")
                rows.append([mistake.file, mistake.what, outcome.by or outcome.what, outcome.why])
    return Report(
        "Mistakes that tests notice",
        [f"{len(chosen)} mistakes in the code that scores, made by hand, one at a time."],
        [Table("mutants", "Mistakes", ["file", "mistake", "noticed by", "as"], rows)],
        wanted=f"each of {len(chosen)} mistakes is noticed by a test; {noticed} were",
        passed=noticed == len(chosen),
    )


def mistakes() -> list[Mistake]:
    """All that are listed beside this module."""
    listed = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))
    return [
        Mistake(file, *each, facts["tests"])
        for file, facts in listed.items()
        for each in facts["mistakes"]
    ]


@contextmanager
def testing(copy: Path) -> Iterator[Tests]:
    """Tests of a copy of the tree, by a process that has imported what they need but CAPS."""
    command = [sys.executable, str(Path(__file__).with_name("forked_tests.py"))]
    surroundings = os.environ | SURROUNDINGS | {"PYTHONPATH": str(copy / "src")}
    with subprocess.Popen(
        command,
        cwd=copy,
        env=surroundings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sent, answers = process.stdin, process.stdout

        def tests(arguments: list[str]) -> tuple[int, str]:
            print(json.dumps(arguments), file=sent, flush=True)
            code, output = json.loads(answers.readline())
            return code, output

        yield tests
        sent.close()


def attempted(copy: Path, mistake: Mistake, tests: Tests) -> Outcome:
    """Make a mistake in a copy of the tree, run its tests, and take it back."""
    path = copy / "src" / "caps" / mistake.file
    text = path.read_text(encoding="utf-8")
    if text.count(mistake.right) != 1:
        return Outcome("gone")
    path.write_text(text.replace(mistake.right, mistake.wrong), encoding="utf-8")
    try:
        code, output = tests(["-x", "-q", "-rf", "--tb=short", str(path), *mistake.tests.split()])
    finally:
        path.write_text(text, encoding="utf-8")
    if code == 0:
        return Outcome("missed")
    failed = re.search(r"^FAILED (\S+::[^\s\[]+).*?(?: - (.*))?$", output, re.MULTILINE)
    if failed is None:
        return Outcome("broken", why=output[-200:])
    return Outcome("noticed", failed[1], failed[2] or "")


def _copied(folder: Path) -> Path:
    for name in COPIED:
        if (TREE / name).is_dir():
            shutil.copytree(
                TREE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(TREE / name, folder)
    return folder
