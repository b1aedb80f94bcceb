from functools import partial
from pathlib import Path

import pytest
import small_series
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
