from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from running_service import TRAIN, broken_table, csv_of, listening, settings, wait_for_fit

from patience import PATIENCE
from untrained_weights import save_untrained_weights


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(folder)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def address(folder: Path, weights: Path) -> Iterator[str]:
    """A service with one fitted model, shared by the tests that do not harm it."""
    with listening(settings(folder, weights)) as address:
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            uploaded = client.post(
                "/v1/series?name=pump&file=pump.csv", content=csv_of(broken_table())
            )
            assert uploaded.status_code == 201, uploaded.text
            asked = client.put(
                "/v1/models/pump", json={"series": "pump", "train": TRAIN, "alarms": "1/day"}
            )
            assert asked.status_code == 202, asked.text
            facts = wait_for_fit(client, "pump")
            assert facts["ready"], facts
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        yield client
