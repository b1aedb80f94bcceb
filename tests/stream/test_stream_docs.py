"""The page on streaming: its example runs, its options and numbers are those of the code."""

import inspect
import re
from pathlib import Path

import pytest

from caps.cli.watch import watch
from caps.stream.arrivals import Counts
from caps.stream.config import StreamConfig
from caps.watch.incidents import LONGEST
from caps.watch.remarks import SILENT
from caps.watch.sinks import MOST, TIMEOUT

PAGE = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(code) == 1
    names: dict[str, object] = {}
    exec(compile(code[0], "streaming.md", "exec"), names)
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert (tmp_path / "state" / "manifest.json").is_file()
    assert names["stream"].counts.rows == 53  # type: ignore[attr-defined]


def test_options_counts_and_numbers_are_those_of_the_code() -> None:
    options = {name.replace("_", "-") for name in inspect.signature(watch).parameters}
    shown = set(re.findall(r"--([a-z]+[a-z-]*)", PAGE.split("## `caps watch`")[1]))
    assert shown - {"causal", "out", "long", "page"} <= options
    for name in set(Counts().to_dict()) - {"rows"}:
        assert f"`{name}`" in PAGE
    config = StreamConfig()
    arrivals, limit, spacing = config.arrivals, config.drift.limit, config.drift.spacing
    assert f"more than {arrivals.leap} steps ahead" in PROSE
    assert f"at most {arrivals.farthest:,} steps on" in PROSE
    assert f"look late; {arrivals.returning} of them" in PROSE
    assert f"at least {limit:,} samples ({limit * spacing:,} rows)" in PROSE
    assert f"One p-value in {spacing} rows" in PROSE
    assert f"{MOST:,} wait at most" in PROSE
    assert f"({LONGEST} rows at most)" in PROSE
    assert f"an answer has {TIMEOUT:g} s" in PROSE
    assert f"without a value in {SILENT} rows" in PROSE
