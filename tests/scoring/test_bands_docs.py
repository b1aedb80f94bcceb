"""The page on bands: its example runs, its numbers are those of the code."""

import re
from pathlib import Path

import pytest

from caps.scoring import ScoringConfig

PAGE = (Path(__file__).parents[2] / "docs" / "bands.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "bands.md", "exec"), {})
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith("row 1000: True")


def test_numbers_are_those_of_the_code() -> None:
    config = ScoringConfig()
    assert f"holds {config.band_share:.0%} of the normal rows" in PROSE
    assert f"at least {config.least_pace} and at most {config.most_pace:,}" in PROSE


def test_what_is_stated_was_found_on_the_evaluation_series() -> None:
    (mean,) = re.findall(r"^\| \*\*mean of all series\*\* \|.*$", PAGE, re.M)
    shares = [float(each) for each in re.findall(r"\d+\.\d", mean)]
    assert len(shares) == 4
    for share, stated in zip(shares, (99, 99, 90, 90), strict=True):
        assert abs(share - stated) <= 2
