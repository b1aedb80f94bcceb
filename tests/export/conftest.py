"""One two-sided and one causal model, fitted once and exported once."""

from pathlib import Path

import numpy as np
import pytest
from exported_model import Pair, table

from caps import CAPS
from caps.export import OnnxModel, write_onnx
from caps.realize import Pretrained
from untrained_weights import FAST, save_untrained_weights, small_model


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    return save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")


def fitted_and_exported(folder: Path, model: CAPS, values: np.ndarray) -> Pair:
    model.fit(values)
    path = folder / "model.onnx"
    written = write_onnx(model, path)
    return Pair(model, OnnxModel.load(path), path, written)


@pytest.fixture(scope="session")
def both_sides(tmp_path_factory: pytest.TempPathFactory, weights: Pretrained) -> Pair:
    return fitted_and_exported(tmp_path_factory.mktemp("both"), small_model(weights), table())


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory, weights: Pretrained) -> Pair:
    model = CAPS(
        pretrained=weights, detector=FAST, construction="injection", references=32, causal=True
    )
    return fitted_and_exported(tmp_path_factory.mktemp("causal"), model, table()[:600, 0])
