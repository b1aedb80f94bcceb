"""What the page on other libraries shows runs, where the library is installed."""

import re
from pathlib import Path

import pytest

from caps import CAPS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ecosystems.md").read_text(encoding="utf-8")


def example(section: str) -> dict[str, object]:
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "ecosystems.md", "exec"), names)
    return names


def test_the_names_of_pyod_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(example("PyOD's names")["detector"], CAPS)
    labelled, first, _ = capsys.readouterr().out.split("\n")[0].split()
    assert 6 <= int(labelled) < 12
    assert int(first) == 900


@pytest.mark.filterwarnings("default")
def test_the_example_for_aeon_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("aeon", reason="aeon is not installed: make ecosystems")
    example("aeon")
    score, peak = capsys.readouterr().out.split()
    assert float(score) > 0.9
    assert 900 <= int(peak) < 906


@pytest.mark.filterwarnings("default")
def test_the_example_for_sktime_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sktime", reason="sktime is not installed: make ecosystems")
    example("sktime")
    assert "900, 901, 902, 903, 904, 905" in capsys.readouterr().out


def test_the_submission_is_a_file_that_needs_tsb_ad_and_caps_alone() -> None:
    code = (ROOT / "examples" / "tsb_ad" / "Run_CAPS.py").read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", code, re.MULTILINE))
    assert imported == {"TSB_AD", "argparse", "caps", "numpy", "pandas", "pathlib", "time"}
    assert "def run_CAPS(data_train, data_test, **parameters):" in code
