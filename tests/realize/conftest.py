"""One tiny pretraining run, shared by every test that needs its result."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from caps.realize import Pretrained, preset_named
from caps.realize.pretrain import Pretraining
from caps.simulate import PairBatch, simulate_pairs

SEED = 4


@dataclass(frozen=True, slots=True)
class TinyRun:
    """A finished run: what it returned, where it lies and what it said."""

    returned: Pretrained
    folder: Path
    work: Path
    said: list[str]


@pytest.fixture(scope="session")
def few_checks() -> Iterator[None]:
    """Checks on fewer unseen pairs than a real run's: their figures are not looked at here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("caps.realize.pretrain.CHECKED", 240)
        yield


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, few_checks: None) -> TinyRun:
    folder = tmp_path_factory.mktemp("pretraining") / "tiny"
    said: list[str] = []
    run = Pretraining(preset_named("tiny"), folder, seed=SEED, workers=1, say=said.append)
    returned = run.result()
    assert returned is not None
    return TinyRun(returned, folder, run.work, said)


@pytest.fixture(scope="session")
def pretrained(tiny_run: TinyRun) -> Pretrained:
    """The tiny run as a user gets it: loaded from its folder."""
    return Pretrained.load(tiny_run.folder)


@pytest.fixture(scope="session")
def unseen() -> PairBatch:
    return simulate_pairs(60, seed=SEED + 100)
