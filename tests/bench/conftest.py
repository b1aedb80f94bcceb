from functools import partial
from pathlib import Path

import pytest
import small_series
from edited_source import Edit, edit_copy
from small_series import WriteSeries


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def write_series(data: Path) -> WriteSeries:
    """Writes one series to `data` and returns its file name."""
    return partial(small_series.write_series, data)


@pytest.fixture
def edit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Edit:
    """Change the text of a file of CAPS, in a copy that hashes are then made of."""
    monkeypatch.setattr("caps.bench.source_code.ROOT", tmp_path / "caps")
    return edit_copy(tmp_path / "caps")
