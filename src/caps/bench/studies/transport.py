"""Distances between laws of effects, losses on them, and how steep a detector is (appendix A).

Arrays have one row for each reference and one column for each draw: xi = (r, m).
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from torch import nn

FORWARD = 256  # windows at once through a detector


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Draws of effects and supports given each reference."""

    residual: np.ndarray  # (references, draws, time), r
    support: np.ndarray  # (references, draws, time) bool, m

    def __getitem__(self, draws: np.ndarray | slice) -> "Effects":
        """Some of the draws of every reference."""
        return Effects(self.residual[:, draws], self.support[:, draws])

    @property
    def draws(self) -> int:
        return int(self.residual.shape[1])

    @property
    def size(self) -> float:
        """Mean norm of an effect."""
        return float(np.linalg.norm(self.residual, axis=-1).mean())

    @staticmethod
    def joined(parts: "list[Effects]") -> "Effects":
        """All draws of several laws given the same references."""
        return Effects(
            np.concatenate([part.residual for part in parts], axis=1),
            np.concatenate([part.support for part in parts], axis=1),
        )


def effect_distances(ours: Effects, theirs: Effects, reference: int) -> np.ndarray:
    """d_Xi = ||r - r'||_2 + ||m - m'||_1 / T between all draws given one reference."""
    window = ours.support.shape[-1]
    first, second = (each.support[reference].astype(np.float64) for each in (ours, theirs))
    supports = cdist(first, second, "cityblock") / window
    residuals = cdist(ours.residual[reference], theirs.residual[reference])
    return np.asarray(residuals + supports)


def wasserstein(ours: Effects, theirs: Effects) -> float:
    """Mean over references of W1 between two empirical laws with equally many draws.

    An optimal assignment, so exact for the draws; of the laws themselves it is too large on
    average, the more so the fewer the draws.

    >>> draws = np.random.default_rng(0).standard_normal((2, 5, 4))
    >>> law = Effects(draws, draws > 0)
    >>> wasserstein(law, law)
    0.0
    >>> round(wasserstein(law, Effects(draws + 1, draws > 0)), 6)  # all moved by (1, 1, 1, 1)
    2.0
    """
    found = []
    for reference in range(len(ours.residual)):
        cost = effect_distances(ours, theirs, reference)
        found.append(cost[linear_sum_assignment(cost)].mean())
    return float(np.mean(found))


def energy_bound(ours: Effects, theirs: Effects) -> float:
    """Half the energy distance, mean over references: no more than W1, and without bias.

    2 E d(X, Y) - E d(X, X') - E d(Y, Y') is at most 2 W1(X, Y) by the triangle inequality, and
    means over different draws estimate it without the bias of an assignment. Near 0 it may be
    negative by chance.

    >>> draws = np.random.default_rng(0).standard_normal((1, 200, 1))
    >>> law, moved = Effects(draws, draws > 9), Effects(draws + 5, draws > 9)
    >>> 3.5 < energy_bound(law, moved) < wasserstein(law, moved) < 5.001
    True
    """
    found = []
    for reference in range(len(ours.residual)):
        between = effect_distances(ours, theirs, reference).mean()
        within = [
            effect_distances(each, each, reference).sum() / (each.draws * (each.draws - 1))
            for each in (ours, theirs)
        ]
        found.append(between - sum(within) / 2)
    return float(np.mean(found))


@torch.inference_mode()
def logits_of(detector: nn.Module, windows: np.ndarray) -> np.ndarray:
    """Logits of windows (any, time)."""
    batches = torch.split(torch.from_numpy(windows.astype(np.float32)), FORWARD)
    return torch.cat([detector(batch) for batch in batches]).double().numpy()


def cross_entropy(logits: np.ndarray, support: np.ndarray) -> np.ndarray:
    """l_BCE: the mean over time of each window's point-wise cross-entropy.

    >>> float(cross_entropy(np.zeros((1, 4)), np.ones((1, 4))).round(3)[0])
    0.693
    """
    return np.asarray((np.logaddexp(0, logits) - support * logits).mean(axis=-1))


def steepness(
    windows: np.ndarray, effects: Effects, logits: np.ndarray, losses: np.ndarray
) -> dict[str, float]:
    """How steep a detector is whose logits and losses on all draws are known.

    Largest figures over the draws: lower estimates of those over all inputs.
    """
    found = []
    for reference in range(len(windows)):
        upper = np.triu_indices(effects.draws, 1)
        distance = effect_distances(effects, effects, reference)[upper]
        gap = np.abs(losses[reference][:, None] - losses[reference])[upper]
        apart = cdist(effects.residual[reference], effects.residual[reference])[upper]
        moved = cdist(logits[reference], logits[reference], "cityblock")[upper]
        outputs = 1 / (1 + np.exp(-logits[reference]))
        changed = cdist(outputs, outputs, "cityblock")[upper]
        time = windows.shape[1]
        found.append(
            [
                _largest_ratio(gap, distance),
                _largest_ratio(changed / time, apart),
                _largest_ratio(moved / time, apart),
            ]
        )
    loss, output, logit = np.max(found, axis=0).tolist()
    largest = float(np.abs(logits).max())
    delta = 1 / (1 + np.exp(min(largest, 700.0)))
    return {
        "loss": loss,  # |l - l'| / d_Xi: the smallest L that these draws allow
        "output": output,  # K_D = ||D(u) - D(v)||_1 / (T ||u - v||_2)
        "logit": logit,  # the same of logits
        "largest": largest,  # |logit|
        # L = max{K_D / delta, log((1 - delta) / delta)}, sufficient in appendix A.3; and with
        # logits instead of probabilities, whose loss has slopes of at most 1/T.
        "by_paper": float(max(output / delta, largest)),
        "by_logits": max(logit, largest),
    }


def _largest_ratio(change: np.ndarray, distance: np.ndarray) -> float:
    """Over pairs that differ; equal ones say nothing."""
    apart = distance > 0
    return float((change[apart] / distance[apart]).max(initial=0.0))
