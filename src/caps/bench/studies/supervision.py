"""Laws of supervision given a reference of a simulated target: the ideal one, CAPS's, controls'."""

from dataclasses import dataclass

import numpy as np
import torch

from caps.bench.studies.transport import Effects
from caps.errors import InputError
from caps.realize import Pretrained
from caps.recover import Construction, PairSet, References, recover_pairs
from caps.simulate import FAMILIES, WINDOW, Bases, draw_normal, simulate_counterparts, survey

# The laws by name.
IDEAL, INTERMEDIATE, CAPS = "ideal", "intermediate", "caps"
SHUFFLED, DIRECT = "shuffled", "direct"
LARGEST = 12.0  # of a value in a simulated window


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows of one simulated series, of which the simulator knows everything."""

    bases: Bases
    row: int
    origin: np.ndarray

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def values(self) -> np.ndarray:
        """The references x (windows, time)."""
        rows = self.origin[:, None] + np.arange(WINDOW)
        values = np.clip(self.bases.series[self.row][rows], -LARGEST, LARGEST)
        return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """The simulated targets, each of another kind; what trains shares no row with what measures."""

    count: int = 12
    length: int = 3_072  # rows of each
    drawn: int = 256  # series to choose the targets from
    seed: int = 1_000  # of the series; the same targets for every seed of the study
    margin: int = 256  # rows at either end, for events that a window cuts
    train_share: float = 0.6  # of the rows between them; the rest has the references of the risks


def draw_targets(config: TargetConfig) -> tuple[Bases, list[int]]:
    """Normal series and the rows that are targets, each of another generator."""
    rng = np.random.default_rng(config.seed)
    bases = survey(*draw_normal(rng, config.drawn, config.length))
    _, first = np.unique(bases.generator, return_index=True)
    if len(first) < config.count:
        raise InputError(
            f"{len(first)} kinds of series for {config.count} targets", "draw more series"
        )
    return bases, first[: config.count].tolist()


def cut_windows(
    bases: Bases, row: int, config: TargetConfig, counts: tuple[int, int], rng: np.random.Generator
) -> tuple[Windows, Windows]:
    """References to train on, and others of later rows to measure on."""
    first, last = config.margin, bases.length - config.margin - WINDOW
    cut = first + round(config.train_share * (last - first))
    train = rng.integers(first, cut - WINDOW, counts[0])
    measured = rng.integers(cut, last, counts[1])
    return Windows(bases, row, np.sort(train)), Windows(bases, row, np.sort(measured))


def ideal_effects(windows: Windows, each: int, rng: np.random.Generator) -> Effects:
    """P_tar: what the simulator itself does to the references, `each` draws of every family."""
    return Effects.joined([_simulated(windows, family, each, rng) for family in FAMILIES])


def intermediate_effects(
    pretrained: Pretrained,
    windows: Windows,
    each: int,
    rng: np.random.Generator,
    *,
    candidates: int,
) -> Effects:
    """Q*: codes and supports as CAPS draws them, realised by the simulator.

    No one can ask the simulator for a code. So it realises every support several times, and the
    candidate whose own code is nearest to the drawn one counts. One candidate: codes are ignored.
    """
    parts = []
    for mode in pretrained.modes:
        count = len(windows) * each
        codes = torch.from_numpy(mode.prior.sample(count, rng))
        support = mode.pool.sample(count, rng)
        made = _simulated(windows, mode.name, each * candidates, rng, support.repeat(candidates, 0))
        residual, found = (
            array.reshape(count, candidates, WINDOW) for array in (made.residual, made.support)
        )
        anomalous = windows.values.repeat(each, axis=0)[:, None] + residual
        nearest = _nearest(pretrained, anomalous.astype(np.float32), found, codes)
        chosen = np.arange(count), nearest
        shape = (len(windows), each, WINDOW)
        parts.append(Effects(residual[chosen].reshape(shape), found[chosen].reshape(shape)))
    return Effects.joined(parts)


def recovered_effects(
    pretrained: Pretrained,
    windows: Windows,
    each: int,
    seed: int,
    construction: Construction = "caps",
) -> Effects:
    """Q: counterparts as `recover_pairs` makes them, `each` of every mode for a reference."""
    values = windows.values.repeat(each, axis=0)
    starts = windows.origin.repeat(each)
    references = References(values, starts, np.ones(values.shape, dtype=bool))
    pairs = recover_pairs(pretrained, references, seed=seed, construction=construction)
    shape = (len(pretrained.modes), len(windows), each, WINDOW)
    residual, support = (
        array.reshape(shape).swapaxes(0, 1).reshape(len(windows), -1, WINDOW)
        for array in (pairs.residual * pairs.support, pairs.support)
    )
    return Effects(residual, support)


def shuffled_effects(effects: Effects) -> Effects:
    """Each effect and support moved to another reference, the draws to different ones.

    >>> law = Effects(np.arange(3.0)[:, None, None] * np.ones((3, 2, 1)), np.ones((3, 2, 1)) > 0)
    >>> shuffled_effects(law).residual[:, :, 0].tolist()
    [[1.0, 2.0], [2.0, 0.0], [0.0, 1.0]]
    """
    count = len(effects.residual)
    draw = np.arange(effects.draws)
    donor = (np.arange(count)[:, None] + 1 + draw % (count - 1)) % count
    return Effects(effects.residual[donor, draw], effects.support[donor, draw])


def as_pairs(windows: Windows, effects: Effects) -> PairSet:
    """What a detector learns from."""
    values = windows.values
    count, draws = effects.residual.shape[:2]
    counterpart = (values[:, None] + effects.residual).reshape(-1, WINDOW).astype(np.float32)
    return PairSet(
        reference=values,
        counterpart=counterpart,
        support=effects.support.reshape(-1, WINDOW),
        mode=np.tile(np.repeat(np.arange(len(FAMILIES)), draws // len(FAMILIES)), count),
        anchor=np.repeat(np.arange(count), draws),
        trusted=np.ones(values.shape, dtype=bool),
    )


def _simulated(
    windows: Windows,
    family: str,
    each: int,
    rng: np.random.Generator,
    support: np.ndarray | None = None,
) -> Effects:
    origin = windows.origin.repeat(each)
    row = np.full(len(origin), windows.row)
    pairs = simulate_counterparts(
        windows.bases, row, origin, family=family, rng=rng, support=support
    )
    shape = (len(windows), each, WINDOW)
    return Effects(pairs.residual.reshape(shape), pairs.support.reshape(shape))


def _nearest(
    pretrained: Pretrained, anomalous: np.ndarray, support: np.ndarray, codes: torch.Tensor
) -> np.ndarray:
    """Which candidate (count, candidates, time) has the code nearest to the one wanted."""
    count, candidates = anomalous.shape[:2]
    if candidates == 1:
        return np.zeros(count, dtype=np.int64)
    _, found = pretrained.encode(
        torch.from_numpy(anomalous.reshape(-1, WINDOW)),
        torch.from_numpy(support.reshape(-1, WINDOW)).float(),
    )
    distance = (found.reshape(count, candidates, -1) - codes[:, None]).square().sum(dim=-1)
    return distance.argmin(dim=1).numpy()
