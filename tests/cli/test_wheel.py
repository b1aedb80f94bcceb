"""What a stranger gets: the wheel alone, in an environment without this repository."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution as import_distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment with the wheel, what `caps-tsad[serve]` asks for, and nothing else.

    What it asks for is that of this environment, by link: `make wheel` lets pip fetch it.
    """
    folder = tmp_path_factory.mktemp("stranger")
    options = "--quiet", "--disable-pip-version-check", "--no-deps"
    pip = sys.executable, "-m", "pip"
    run(*pip, "wheel", *options, "--no-build-isolation", "-w", folder, ROOT, cwd=folder)
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=folder)
    (wheel,) = folder.glob("*.whl")
    made = folder / "env" / "bin" / "python"
    run(*pip, "--python", made, "install", *options, "--no-index", wheel, cwd=folder)
    where = run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    packages = Path(where.strip())
    (installed,) = distributions(name="caps-tsad", path=[str(packages)])
    for needed in required(installed, {"serve"}):
        link(needed, packages)
    return made


def required(distribution: Distribution, extras: set[str]) -> Iterator[Distribution]:
    """All that a distribution with these extras needs, found in this environment."""
    waiting, seen = [(distribution, frozenset(extras))], set()
    while waiting:
        each, asked = waiting.pop()
        for text in each.requires or ():
            wanted = Requirement(text)
            marker = wanted.marker
            if marker and not any(marker.evaluate({"extra": name}) for name in asked or {""}):
                continue
            key = (wanted.name, frozenset(wanted.extras))
            if key not in seen:
                seen.add(key)
                found = import_distribution(wanted.name)
                waiting.append((found, frozenset(wanted.extras)))
                yield found


def link(distribution: Distribution, packages: Path) -> None:
    tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    for top in tops:
        if not top.endswith(".pth") and not (packages / top).exists():
            (packages / top).symlink_to(Path(str(distribution.locate_file(top))))


def test_the_example_of_the_readme_finds_its_event(python: Path, tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = run(python, "-c", f"{example}print(caps.__file__)", cwd=tmp_path)
    *_, event, where = shown.strip().splitlines()
    assert event.startswith("2024-01-11 10:00")
    assert Path(where).is_relative_to(python.parents[1])


def test_the_command_writes_a_report_and_names_kinds(python: Path, tmp_path: Path) -> None:
    rows = "".join(f"{row % 24 + 9 * (700 <= row < 703)}\n" for row in range(1000))
    (tmp_path / "load.csv").write_text(f"load\n{rows}", encoding="utf-8")
    shown = run(python.with_name("caps"), "detect", "load.csv", "--json", cwd=tmp_path)
    assert '"kind"' in shown
    report = (tmp_path / "load-caps" / "report.html").read_text(encoding="utf-8")
    assert "Plotly" in report


def test_the_page_of_the_service_is_in_it(python: Path, tmp_path: Path) -> None:
    code = "import caps.serve, pathlib; print(pathlib.Path(caps.serve.__file__).parent)"
    folder = Path(run(python, "-c", code, cwd=tmp_path).strip())
    assert folder.is_relative_to(python.parents[1])
    ours = {path.name for path in (ROOT / "src" / "caps" / "serve" / "static").iterdir()}
    assert {path.name for path in (folder / "static").iterdir()} == ours


def test_the_extra_serves_with_nothing_else_installed(python: Path, tmp_path: Path) -> None:
    others = "import importlib.util as u; print([*map(u.find_spec, ('pytest', 'onnx', 'httpx'))])"
    assert run(python, "-c", others, cwd=tmp_path).strip() == "[None, None, None]"
    shown = run(python, ROOT / "tools" / "deployment" / "smoke.py", cwd=tmp_path)
    assert shown.startswith("served ")
