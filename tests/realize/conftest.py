"""One tiny pretraining run, shared by every test that needs its result."""

from collections.abc import Iterator

import pytest
from finished_run import SEED, FinishedRun

from caps.realize import Pretrained, preset_named
from caps.realize.pretrain import Pretraining
from caps.simulate import PairBatch, simulate_pairs


@pytest.fixture(scope="session")
def few_checks() -> Iterator[None]:
    """Checks on fewer unseen pairs than a real run's: their figures are not looked at here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("caps.realize.pretrain.CHECKED", 240)
        yield


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, few_checks: None) -> FinishedRun:
    folder = tmp_path_factory.mktemp("pretraining") / "tiny"
    said: list[str] = []
    run = Pretraining(preset_named("tiny"), folder, seed=SEED, workers=1, say=said.append)
    returned = run.result()
    assert returned is not None
    return FinishedRun(returned, folder, run.work, said)


@pytest.fixture(scope="session")
def pretrained(tiny_run: FinishedRun) -> Pretrained:
    """The tiny run as a user gets it: loaded from its folder."""
    return Pretrained.load(tiny_run.folder)


@pytest.fixture(scope="session")
def unseen() -> PairBatch:
    return simulate_pairs(60, seed=SEED + 100)
