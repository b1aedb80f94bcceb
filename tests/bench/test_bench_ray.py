"""The same cells on Ray."""

from pathlib import Path

import pytest
from small_series import WriteSeries

from caps.bench.cells import read_cells
from caps.bench.datasets import find_series
from caps.bench.runner import run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_gives_the_results_of_child_processes(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    write_series()
    files = find_series([data])
    state = run(files, ["lof", "random"], tmp_path / "ray", engine="ray", save_scores=True)
    assert (state.done, state.failed) == (2, 0)
    run(files, ["lof", "random"], tmp_path / "local", save_scores=True)
    results = [
        {each["method"]: (each["test"], each["whole"]) for each in read_cells(tmp_path / name)}
        for name in ("ray", "local")
    ]
    assert results[0] == results[1]
    assert len(list((tmp_path / "ray").rglob("*.npy"))) == 2
