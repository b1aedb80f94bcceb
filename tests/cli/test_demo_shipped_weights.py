"""What `caps demo` finds with the weights that ship with CAPS."""

import json
from pathlib import Path

import pytest

from caps.cli.main import main
from caps.realize.pretrained import SHIPPED


@pytest.mark.slow
@pytest.mark.skipif(not (SHIPPED / "manifest.json").is_file(), reason="no shipped weights")
def test_the_demo_finds_the_incidents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--out", str(tmp_path), "--json"])
    assert stop.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["incidents_found"] >= 4
    assert len(facts["false_events"]) <= 3
