"""What a stranger gets: the wheel alone, in an environment without this repository."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

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
    """Of an environment with the wheel; what it depends on is that of this one."""
    folder = tmp_path_factory.mktemp("stranger")
    options = "--quiet", "--disable-pip-version-check", "--no-deps"
    pip = sys.executable, "-m", "pip"
    run(*pip, "wheel", *options, "--no-build-isolation", "-w", folder, ROOT, cwd=folder)
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=folder)
    (wheel,) = folder.glob("*.whl")
    made = folder / "env" / "bin" / "python"
    run(*pip, "--python", made, "install", *options, "--no-index", wheel, cwd=folder)
    # The path of an editable install stands in a .pth file, which is not followed from here.
    where = run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    others = sysconfig.get_path("purelib")
    (Path(where.strip()) / "others.pth").write_text(f"{others}\n", encoding="utf-8")
    return made


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
