"""What scores without any knowledge get on the same labels."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caps.metrics.affiliation import affiliation_f, affiliation_sweep
from caps.metrics.evaluation import Evaluation, Protocol, evaluate
from caps.metrics.range_wise import harmonic, range_sweep
from caps.metrics.scored import Events, checked_labels


@dataclass(frozen=True, slots=True)
class Floors:
    """Evaluations of knowledge-free scores; a method means something only above them."""

    random: Evaluation  # mean over uniform random scores
    constant: Evaluation  # the same score everywhere, swept like any other
    all_ones: Evaluation  # every point predicted: what threshold metrics give for no effort


def floors(
    labels: ArrayLike,
    *,
    protocol: Protocol = "caps",
    window: int | None = None,
    draws: int = 5,
    rng: np.random.Generator | None = None,
) -> Floors:
    """Return what random, constant and all-ones scores get on these labels.

    >>> round(floors([0, 0, 1, 1, 0, 0, 0, 0], window=2).all_ones.standard_f1, 3)
    0.4
    """
    flags = checked_labels(labels)
    rng = np.random.default_rng(0) if rng is None else rng
    random = [
        evaluate(rng.random(len(flags)), flags, protocol=protocol, window=window)
        for _ in range(draws)
    ]
    constant = evaluate(np.zeros(len(flags)), flags, protocol=protocol, window=window)
    return Floors(_mean(random), constant, _all_ones(constant, Events.of(flags), len(flags)))


def _mean(evaluations: list[Evaluation]) -> Evaluation:
    means: dict[str, Any] = {
        field.name: float(np.mean([getattr(each, field.name) for each in evaluations]))
        for field in fields(Evaluation)
        if field.type is float
    }
    return replace(evaluations[0], **means)


def _all_ones(constant: Evaluation, events: Events, size: int) -> Evaluation:
    """Ranking metrics see all-ones as constant scores; threshold metrics see one prediction."""
    if not len(events):
        return constant
    levels = np.ones(size, dtype=np.int64)
    sweep = range_sweep(levels, 1, events)
    return replace(
        constant,
        f1_t=float(harmonic(sweep.precision, sweep.recall)[0]),
        f1_t_fixed=float(harmonic(sweep.precision_fixed, sweep.recall)[0]),
        affiliation_f=float(affiliation_f(*affiliation_sweep(levels, 1, events))[0]),
    )
