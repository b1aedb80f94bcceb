"""The `caps simulate` command writes, reads back, reports and draws."""

import json
from pathlib import Path

import numpy as np
import pytest

from caps.cli.offline import simulate
from caps.errors import InputError
from caps.inspection import draw_gallery
from caps.simulate import load_pairs, simulate_pairs


def test_json_figures_describe_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(pairs=90, out=tmp_path / "pairs", seed=2, json_output=True)
    figures = json.loads(capsys.readouterr().out)
    assert figures["pairs"] == 90
    assert figures["families"] == {"point": 30, "periodic": 30, "trend": 30}
    assert figures["largest_outside"] == 0
    assert figures["pairs_per_second"] > 0
    written = load_pairs(tmp_path / "pairs")
    assert np.array_equal(written.anomalous, simulate_pairs(90, seed=2).anomalous)


def test_the_table_names_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(pairs=90, out=tmp_path / "pairs")
    shown = capsys.readouterr().out
    assert "90 pairs at" in shown
    assert "T8 flatline" in shown


def test_nothing_to_write_is_an_input_error() -> None:
    with pytest.raises(InputError, match="--out"):
        simulate()


@pytest.mark.slow
def test_the_gallery_is_a_picture(tmp_path: Path) -> None:
    draw_gallery(tmp_path / "gallery.png", columns=2, families=("point",))
    assert (tmp_path / "gallery.png").read_bytes().startswith(b"\x89PNG")
