"""Every study, of the paper and of this repository, is where the catalogue and the page say."""

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from caps.bench.studies.catalogue import STUDIES
from caps.bench.studies.study import Study

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


def every_study() -> dict[str, Study]:
    from tools.catalogue import OURS  # found by the fixture above

    assert not set(OURS) & set(STUDIES)
    return {**STUDIES, **OURS}


def plans_in(tree: ast.Module) -> list[str]:
    """The names in a module's table of plans."""
    tables = [node.value for node in tree.body if ast.unparse(node).startswith("PLANS = ")]
    return [ast.literal_eval(key) for table in tables for key in table.keys]


def test_every_study_is_found_without_running_or_importing_it() -> None:
    for name, study in every_study().items():
        spec = find_spec(study.module)
        assert spec is not None, name
        assert spec.origin is not None, name
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        own = functions.get(name.replace("-", "_"))
        wanted = ["run"] if own else ["name", "run"]
        assert own or name in plans_in(tree), name
        found = own or functions["planned_study"]
        assert [argument.arg for argument in found.args.args] == wanted, name


def test_every_study_stands_in_the_page_with_its_question() -> None:
    listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \|", PAGE, re.MULTILINE))
    assert listed == {name: study.question for name, study in every_study().items()}


def test_every_recorded_page_names_the_command_of_its_study() -> None:
    pages = sorted((ROOT / "docs" / "results").glob("*.md"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.search(rf"`(caps bench study|python -m tools) {page.stem} [^`]*`", text), page


def test_the_paper_s_studies_are_in_the_wheel_and_the_others_are_not() -> None:
    for name, study in every_study().items():
        assert study.module.startswith("caps.bench.studies.") == (name in STUDIES)


def test_neither_the_package_nor_its_help_imports_the_bench() -> None:
    code = (
        "import sys, caps\nfrom caps.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print('loaded', [name for name in sys.modules if name.startswith('caps.bench')])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.endswith("loaded []\n"), answer.stdout + answer.stderr
