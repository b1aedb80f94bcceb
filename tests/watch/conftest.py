"""A model of one channel in minutes, and small servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from minute_load import ORIGIN, TRAIN, load
from played_watch import Played, value
from small_servers import SmallAlertmanager, SmallPrometheus, SmallServer, running

from caps import CAPS


@pytest.fixture(scope="session")
def model() -> CAPS:
    frame = pd.DataFrame(
        {
            "time": pd.date_range("2024-05-01", periods=TRAIN, freq="min"),
            "value": [load(row) for row in range(TRAIN)],
        }
    )
    return CAPS(causal=True, alarms="1/day").fit(frame)


@pytest.fixture
def prometheus() -> Iterator[SmallPrometheus]:
    with running(SmallPrometheus()) as server:
        yield server


@pytest.fixture
def alertmanager() -> Iterator[SmallAlertmanager]:
    with running(SmallAlertmanager()) as server:
        yield server


@pytest.fixture
def played(prometheus: SmallPrometheus, alertmanager: SmallAlertmanager, model: CAPS,
           tmp_path: Path) -> Any:  # fmt: skip
    labels = {"__name__": "load", "host": "a"}
    prometheus.series["load"] = [(labels, lambda moment: value((moment - ORIGIN) // 60))]
    with running(SmallServer()) as hook:
        yield Played((prometheus, hook, alertmanager), model, tmp_path)
