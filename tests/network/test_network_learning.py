"""A detector learns the support of counterparts, from trusted points only, and repeatably."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.network.config import PAPER, DetectorConfig
from caps.network.detector import Detector
from caps.network.learning import DetectorLoss, _steps, train_detector
from caps.training import Report
from small_detector import SMALL, WINDOW, Pairs, pairs_with_levels
from torch_threads import torch_threads

QUICK = replace(SMALL, steps=3, members=1)


def logits(detector: Detector, windows: np.ndarray) -> np.ndarray:
    return detector(torch.from_numpy(windows)).numpy()


def same_weights(first: Detector, second: Detector) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_support_of_new_counterparts_scores_higher_than_the_rest(detector: Detector) -> None:
    fresh = pairs_with_levels(np.random.default_rng(5), 40)
    counterpart = logits(detector, fresh.counterpart)
    reference = logits(detector, fresh.reference)
    assert counterpart[fresh.support].mean() > counterpart[~fresh.support].mean() + 2
    assert counterpart[fresh.support].mean() > reference.mean() + 2


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(pairs: Pairs) -> None:
    first, second = (train_detector(pairs, QUICK, seed=7) for _ in range(2))
    assert same_weights(first, second)
    assert not same_weights(first, train_detector(pairs, QUICK, seed=8))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_members_side_by_side_are_those_one_after_the_other(pairs: Pairs, dropout: float) -> None:
    config = replace(QUICK, members=3, dropout=dropout)
    found = []
    for count in (1, 2):
        with torch_threads(count):
            found.append(train_detector(pairs, config, seed=7))
    assert same_weights(*found)


class Tired:
    """A progress that has had enough of the first member."""

    every = 0.0

    def report(self, report: Report) -> None:
        if report.name == "detector-0":
            raise InterruptedError

    def close(self) -> None:
        """Nothing stays open."""


def test_members_end_together_where_one_fails(pairs: Pairs) -> None:
    endless = replace(QUICK, members=2, steps=10**9)
    with torch_threads(2), pytest.raises(InterruptedError):
        train_detector(pairs, endless, seed=7, progress=Tired())


@pytest.mark.parametrize("count", [1, 2])
def test_training_leaves_the_global_random_state_alone(pairs: Pairs, count: int) -> None:
    before = torch.get_rng_state()
    with torch_threads(count):
        train_detector(pairs, replace(QUICK, members=2), seed=7)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_trained_detector_is_frozen_and_ready(detector: Detector) -> None:
    assert not detector.training
    assert not any(weight.requires_grad for weight in detector.parameters())


def test_untrusted_points_change_nothing(pairs: Pairs) -> None:
    trusted = pairs.trusted.copy()
    trusted[:, :8] = False
    labels = pairs.support.copy()
    labels[:, :8] = ~labels[:, :8]
    honest = train_detector(replace(pairs, trusted=trusted), QUICK, seed=0)
    misled = train_detector(replace(pairs, trusted=trusted, support=labels), QUICK, seed=0)
    assert same_weights(honest, misled)


class Constant(nn.Module):
    """Gives the same logit everywhere."""

    def outputs(self, x: Tensor) -> Tensor:
        return torch.full_like(x, 2.0).unsqueeze(1)


def test_both_branches_weigh_the_same() -> None:
    support = torch.zeros(4, 8)
    support[:, :2] = 1
    zeros, ones = torch.zeros(4, 8), torch.ones(4, 8)
    batch = {"reference": zeros, "counterpart": zeros, "support": support, "trusted": ones}
    batch["output"] = torch.zeros(4, dtype=torch.int64)
    losses = DetectorLoss(Constant())(batch)
    wrong, right = np.log1p(np.exp(2.0)), np.log1p(np.exp(-2.0))
    assert losses["reference"].item() == pytest.approx(wrong)
    assert losses["generated"].item() == pytest.approx(0.25 * right + 0.75 * wrong)
    expected = (losses["reference"] + losses["generated"]) / 2
    assert losses["loss"].item() == pytest.approx(expected.item())


def test_epochs_count_counterparts() -> None:
    assert _steps(1000, PAPER) == 20 * 63  # 16 counterparts and their references a step
    assert _steps(1000, DetectorConfig()) == 200


def test_the_transformer_learns_too(pairs: Pairs) -> None:
    config = replace(SMALL, network="transformer", members=1, layers=2)
    network = train_detector(pairs, config, seed=0)
    found = logits(network, pairs.counterpart)
    assert found[pairs.support].mean() > found[~pairs.support].mean() + 1


def test_pairs_of_another_length_are_refused(pairs: Pairs) -> None:
    with pytest.raises(InputError, match=f"pairs of {WINDOW} steps for a detector of 256"):
        train_detector(pairs, DetectorConfig(), seed=0)


def test_an_empty_set_of_pairs_is_refused(pairs: Pairs) -> None:
    empty = replace(pairs, counterpart=pairs.counterpart[:0])
    with pytest.raises(InputError, match="recover at least one"):
        train_detector(empty, SMALL, seed=0)


def test_pairs_with_gaps_are_refused(pairs: Pairs) -> None:
    reference = pairs.reference.copy()
    reference[3, 4] = np.nan
    with pytest.raises(InputError, match="bridge gaps first"):
        train_detector(replace(pairs, reference=reference), SMALL, seed=0)
