from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from running_service import fit_pump, listening, settings

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
        fit_pump(address)
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        yield client
