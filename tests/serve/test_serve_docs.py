"""What the page on the service says is so."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from running_service import broken_table

from caps.cli.deploy import TOKEN, serve
from caps.serve import Settings
from caps.serve.requests import MOST_ROWS
from patience import PATIENCE

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_example_runs(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    broken_table().drop(columns="heat").to_csv("metrics.csv", index=False)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code.replace("http://127.0.0.1:8100", address), "serve.md", "exec"), names)
    names["service"].close()
    shown = capsys.readouterr().out
    *events, scores = shown.strip().splitlines()
    assert events
    assert all("2024-03-0" in line and "nomaly" in line for line in events)
    assert len(json.loads(scores.replace("None", "null"))) == 5
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        client.delete("/v1/models/metrics")
        client.delete("/v1/series/metrics")


def test_every_request_shown_is_in_the_description(client: httpx.Client) -> None:
    paths = set(client.get("/openapi.json").json()["paths"])
    table = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    shown = {route for row in table for route in re.findall(r"(/[a-z][\w/{}]*)", row)}
    assert {"/v1/models/{name}", "/v1/models/{name}/score", "/metrics"} <= shown
    stems = {re.sub(r"\{\w+\}", "{}", path) for path in paths}
    assert {re.sub(r"\{\w+\}", "{}", path) for path in shown} <= stems


def test_the_limits_are_those_of_the_code() -> None:
    limits = Settings(Path("models"))
    assert f"{limits.upload_bytes // 10**6} MB, {limits.body_bytes // 10**6} MB" in PROSE
    assert f"{limits.rows:,} and {limits.columns:,}" in PROSE
    assert f"| {limits.waiting_fits}, {limits.fits} (`--fits`)" in PROSE
    assert f"| {limits.waiting_scores}, {limits.scorers} |" in PROSE
    assert f"{limits.answer_seconds:g} s, {limits.view_seconds:g} s, 1 h" in PROSE
    assert limits.fit_seconds == 3600
    assert f"| {limits.head_seconds:g} s, {limits.body_seconds:g} s |" in PROSE
    assert f"| {limits.waiting_connections}, {limits.waiting_bodies} |" in PROSE
    assert f"| {limits.spare_bytes // 10**6} MB | `/ready`" in PROSE
    assert f"more than {limits.large_values:,} values" in PROSE
    assert f"{limits.stored} each" in PROSE
    assert f"up to {MOST_ROWS:,} rows" in PROSE
    assert TOKEN in PROSE
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(serve).parameters}
    assert set(re.findall(r"--[a-z][a-z-]*", PAGE)) <= options | {"--hex"}
