"""A folder of small series and the fleet that was fitted on it, shared by all tests."""

import pytest
from small_fleet import TRAIN, Fleet, InlineEngine, write_series

from caps.fleet import find_series, fit_fleet
from caps.scoring import FitOptions
from untrained_weights import save_untrained_weights


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> FitOptions:
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(folder)
    return FitOptions(alarms="1/day", pretrained=str(folder))


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory, settings: FitOptions) -> Fleet:
    home = tmp_path_factory.mktemp("fleet")
    source = write_series(home / "metrics", 3)
    (source / "broken.csv").write_text("time,load\n2024-01-01,1\n2024-01-01,2\n")
    entries = find_series(source, train=str(TRAIN))
    result = fit_fleet(entries, home / "out", settings, engine=InlineEngine())
    return Fleet(source, home / "out", result)
