"""Are generated residuals like real ones? Figures for each mode on unseen pairs."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caps.realize.pretrained import Mode, Pretrained
from caps.realize.samplers import Sampler
from caps.realize.source import Source, encode_source
from caps.simulate import PairBatch

ROWS = 400  # pairs of each mode behind a figure


def realization_checks(
    pretrained: Pretrained, unseen: PairBatch, *, seed: int = 0
) -> dict[str, Any]:
    """Figures of the experts and of the router; see docs/model-card.md for their meaning."""
    source = encode_source(pretrained.representation, unseen, pretrained.code_scale)
    assigned = pretrained.assign(unseen.family, source.semantic_code)
    figures: dict[str, Any] = {}
    for k, mode in enumerate(pretrained.modes):
        rows = np.flatnonzero(assigned == k)[:ROWS]
        if len(rows) > 1:  # a small cluster may have no unseen pair
            figures[mode.name] = _mode_figures(pretrained, mode, source, rows, seed)
    figures["router"] = router_figures(pretrained, source)
    return figures


def sampler_table(
    pretrained: Pretrained, unseen: PairBatch, samplers: Iterable[Sampler], *, rows: int = 128
) -> list[dict[str, Any]]:
    """Quality with samples of the prior, and cost, of each sampler: one row for each mode."""
    source = encode_source(pretrained.representation, unseen, pretrained.code_scale)
    assigned = pretrained.assign(unseen.family, source.semantic_code)
    table = []
    for sampler in samplers:
        for k, mode in enumerate(pretrained.modes):
            chosen = np.flatnonzero(assigned == k)[:rows]
            bench = _Bench(pretrained, mode, source, chosen, seed=0)
            started = time.perf_counter()
            drawn = bench.from_prior(sampler=sampler)
            cost = (time.perf_counter() - started) / len(chosen) * 1e3
            figures = _likeness(drawn, bench.residual, bench.support)
            table.append(
                {"sampler": sampler.method, "steps": sampler.steps, "mode": mode.name}
                | figures
                | {"ms per pair": cost}
            )
    return table


def router_figures(pretrained: Pretrained, source: Source) -> dict[str, Any]:
    """Accuracy and confusion matrix (rows: true mode) of the router."""
    scores = pretrained.router.scores(source.structure_code, source.semantic_code)
    guess = scores.argmax(1).numpy()
    truth = pretrained.assign(source.pairs.family, source.semantic_code)
    count = len(pretrained.modes)
    confusion = np.zeros((count, count), dtype=int)
    np.add.at(confusion, (truth, guess), 1)
    return {"accuracy": float((guess == truth).mean()), "confusion": confusion.tolist()}


def roughness(residual: Tensor, support: Tensor) -> float:
    """Mean absolute second difference over root mean square, averaged over the rows."""
    padded = torch.nn.functional.pad(residual * support, (1, 1))
    bend = (padded[:, 2:] - 2 * padded[:, 1:-1] + padded[:, :-2]).abs()
    inside = support.sum(1).clamp(min=1)
    size = ((residual * support).square().sum(1) / inside).sqrt()
    return float(((bend * support).sum(1) / inside / size.clamp(min=1e-3)).mean())


class _Bench:
    """One mode's expert on the structures and supports of unseen pairs."""

    def __init__(
        self, pretrained: Pretrained, mode: Mode, source: Source, rows: np.ndarray, seed: int
    ) -> None:
        self.pretrained, self.mode, self.seed = pretrained, mode, seed
        self.normal = torch.from_numpy(source.pairs.normal[rows])
        self.residual = torch.from_numpy(source.pairs.residual[rows])
        self.support = torch.from_numpy(source.pairs.support[rows]).float()
        self.structure_code = source.structure_code[rows]
        self.semantic_code = source.semantic_code[rows]
        self.prior_code = torch.from_numpy(
            mode.prior.sample(len(rows), np.random.default_rng(seed))
        )

    def realize(
        self, structure: Tensor, codes: Tensor, *, noise: int = 0, blur: float = 0.0, **how: Any
    ) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed + noise)
        drawn = self.pretrained.realize(
            self.mode, structure, codes, self.support, blur=blur, generator=generator, **how
        )
        whole_sequence = self.pretrained.preset.realize.mechanism == "sequence"
        return drawn - self.normal if whole_sequence else drawn

    def from_prior(self, **how: Any) -> Tensor:
        blur = self.pretrained.preset.realize.semantic_blur
        return self.realize(self.structure_code, self.prior_code, blur=blur, **how)

    def outside_share(self) -> float:
        """RMS outside the support over RMS inside, with no help from the mask in any step."""
        drawn = self.from_prior(anchored=False)
        inside = (drawn.square() * self.support).sum() / self.support.sum()
        outside = (drawn.square() * (1 - self.support)).sum() / (1 - self.support).sum()
        return float((outside / inside).sqrt())


@torch.no_grad()
def _mode_figures(
    pretrained: Pretrained, mode: Mode, source: Source, rows: np.ndarray, seed: int
) -> dict[str, float]:
    bench = _Bench(pretrained, mode, source, rows, seed)
    structure = bench.structure_code
    first, again, swapped = (
        bench.realize(given, bench.semantic_code, noise=noise) * bench.support
        for given, noise in ((structure, 0), (structure, 1), (structure.roll(1, 0), 1))
    )
    codes = _likeness(first, bench.residual, bench.support)
    prior = _likeness(bench.from_prior(), bench.residual, bench.support)
    return {
        **{f"real codes: {name}": value for name, value in codes.items()},
        **{f"prior: {name}": value for name, value in prior.items()},
        "rms outside over inside before masking": bench.outside_share(),
        "change by new noise": _distance(first, again),
        "change by another structure": _distance(first, swapped),
    }


def _likeness(drawn: Tensor, real: Tensor, support: Tensor) -> dict[str, float]:
    """Size and roughness of the drawn residuals relative to the real ones."""
    size = ((drawn * support).square().sum() / real.square().sum()).sqrt()
    return {
        "rms ratio": float(size),
        "roughness ratio": roughness(drawn, support) / roughness(real, support),
    }


def _distance(first: Tensor, second: Tensor) -> float:
    """Root mean square difference relative to the residuals' own size."""
    return float(((first - second).square().mean() / first.square().mean()).sqrt())
