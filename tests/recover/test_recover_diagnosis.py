"""Diagnosis narrows the modes by what the user knows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.errors import InputError
from caps.realize import Pretrained
from caps.realize.modes import Router
from caps.recover import diagnose, known_windows
from caps.simulate import FAMILIES, simulate_pairs


@dataclass(frozen=True, slots=True)
class SpikeOrDrift:
    """Stands in for the pretrained modules: short supports are points, long ones trends."""

    def associate(self, windows: Tensor, support: Tensor) -> np.ndarray:
        short = (support.sum(dim=1) < 40).float()
        return torch.stack(
            [0.9 * short, 0.1 * torch.ones_like(short), 0.9 * (1 - short)], 1
        ).numpy()


def test_windows_of_one_family_select_its_mode() -> None:
    for family in ("point", "trend"):
        pairs = simulate_pairs(300, seed=5, families=[family])
        steps = pairs.support.sum(axis=1)
        clear = pairs[steps < 40 if family == "point" else steps >= 40]
        assert len(clear) > 30
        chosen = diagnose(SpikeOrDrift(), clear.anomalous, clear.support)  # type: ignore[arg-type]
        assert chosen == [FAMILIES.index(family)]


def test_a_mixture_selects_every_mode_it_needs_best_first() -> None:
    pairs = simulate_pairs(300, seed=6, families=["point"])
    steps = pairs.support.sum(axis=1)
    short, long = pairs[steps < 40][:10], pairs[steps >= 40][:5]
    windows = np.concatenate([short.anomalous, long.anomalous])
    support = np.concatenate([short.support, long.support])
    assert len(windows) == 15
    assert diagnose(SpikeOrDrift(), windows, support) == [0, 2]  # type: ignore[arg-type]
    assert diagnose(SpikeOrDrift(), windows, support, rho=1.0) == [0, 2, 1]  # type: ignore[arg-type]


def test_the_router_of_the_weights_decides(pretrained: Pretrained) -> None:
    class Certain(Router):
        def forward(self, z_s: Tensor, z_a: Tensor) -> Tensor:
            return torch.tensor([0.0, 9.0, 0.0]).expand(len(z_s), 3)

    certain = replace(pretrained, router=Certain(128, 48, 3))
    pairs = simulate_pairs(300, seed=7)
    assert diagnose(certain, pairs.anomalous, pairs.support) == [1]


def test_nothing_known_selects_nothing_and_says_so(pretrained: Pretrained) -> None:
    empty = np.zeros((0, 256))
    with pytest.raises(InputError, match="give one or more"):
        diagnose(pretrained, empty, empty > 0)
    with pytest.raises(InputError, match="give one or more"):
        diagnose(pretrained, np.zeros((2, 256)), np.ones((1, 256), bool))
    with pytest.raises(InputError, match="name at least one"):
        known_windows(np.zeros(500), [])


def test_a_known_span_lies_in_the_middle_of_its_window() -> None:
    windows, support = known_windows(np.arange(1000.0), [(500, 520), (0, 10), (995, 1000)])
    assert windows[:, 0].tolist() == [382, 0, 744]
    assert windows.shape == support.shape == (3, 256)
    assert windows[0][support[0]].tolist() == list(range(500, 520))
    assert support.sum(axis=1).tolist() == [20, 10, 5]


def test_a_span_longer_than_a_window_is_covered_by_several() -> None:
    windows, support = known_windows(np.arange(2000.0), [(300, 1000)])
    assert support.all()
    assert set(windows.ravel().tolist()) == set(range(300, 1000))


def test_a_known_span_of_a_short_series_is_padded() -> None:
    values = np.arange(100.0)
    values[30:40] = np.nan
    windows, support = known_windows(values, [(90, 100)])
    assert windows.shape == (1, 256)
    assert np.isfinite(windows).all()
    assert np.flatnonzero(support[0]).tolist() == list(range(246, 256))


@pytest.mark.parametrize("span", [(5, 5), (-1, 4), (90, 101), (8, 3)])
def test_a_span_outside_the_series_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="name rows of the series"):
        known_windows(np.zeros(100), [span])
