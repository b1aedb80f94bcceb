"""The source side of stage 2: frozen codes of all simulated pairs, their modes, and batches."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from caps.errors import InputError
from caps.realize.config import Mechanism, PriorKind
from caps.realize.experts import LIMIT, CodeScale
from caps.realize.modes import MaskPool, Prior, fit_prior
from caps.represent import Representation, decode_structure, encode_all
from caps.simulate import FAMILIES, WINDOW, PairBatch, simulate_pairs
from caps.training import Batches


@dataclass(frozen=True, slots=True)
class Source:
    """Simulated pairs with their frozen codes."""

    pairs: PairBatch
    structure_code: Tensor  # z_ns (pairs, structure)
    semantic_code: Tensor  # standardised z_a (pairs, semantic)
    structure: Tensor  # base(z_ns) (pairs, time)
    code_scale: CodeScale


def encode_source(
    representation: Representation, pairs: PairBatch, code_scale: CodeScale | None = None
) -> Source:
    """Encode every pair once; without a `code_scale`, measure it on these pairs."""
    z_s, _ = encode_all(representation, pairs.normal, pairs.support)
    _, z_a = encode_all(representation, pairs.anomalous, pairs.support)
    if code_scale is None:
        code_scale = CodeScale(z_a.mean(0), z_a.std(0).clamp(min=1e-6))
    structure = decode_structure(representation, z_s)
    return Source(pairs, z_s, code_scale.standardise(z_a), structure, code_scale)


@dataclass(frozen=True, slots=True)
class Modes:
    """Which mode each source pair belongs to, and the modes' names."""

    names: tuple[str, ...]
    assignment: np.ndarray  # (pairs,) index into names

    def __len__(self) -> int:
        return len(self.names)


def organise(family: np.ndarray, codes: np.ndarray, clusters: int, *, seed: int) -> Modes:
    """The simulator's families as modes (the paper's default), or that many clusters of the codes.

    The clusters, by K-means on the frozen codes z_a, know nothing of the families.
    """
    if not clusters:
        return Modes(tuple(FAMILIES), family.astype(np.int64))
    from sklearn.cluster import KMeans  # half a second that families do without

    if not 1 <= clusters <= len(codes):
        raise InputError(f"cannot make {clusters} modes of {len(codes)} codes", "choose another K")
    assignment = KMeans(clusters, n_init=4, random_state=seed).fit_predict(codes)
    names = tuple(f"cluster {i + 1}" for i in range(clusters))
    return Modes(names, assignment.astype(np.int64))


@dataclass(frozen=True, slots=True)
class ModeSource:
    """The pairs of one mode and what is fitted to them."""

    name: str
    source: Source
    rows: np.ndarray
    prior: Prior
    pool: MaskPool
    scale: float  # root mean square of the residuals inside their supports

    def batches(self, mechanism: Mechanism) -> Batches:
        """A function that draws training batches for this mode's expert."""
        source, pairs = self.source, self.source.pairs
        centre = torch.from_numpy(self.prior.mean.astype(np.float32))

        def draw(count: int, rng: np.random.Generator) -> dict[str, Tensor]:
            rows = self.rows[rng.integers(len(self.rows), size=count)]
            normal = torch.from_numpy(pairs.normal[rows])
            anomalous = torch.from_numpy(pairs.anomalous[rows])
            support = torch.from_numpy(pairs.support[rows]).float()
            if mechanism != "sequence":
                clean = ((anomalous - normal) / self.scale).clamp(-LIMIT, LIMIT)
                background = torch.zeros_like(clean)
            else:
                clean, background = anomalous.clamp(-LIMIT, LIMIT), normal.clamp(-LIMIT, LIMIT)
            return {
                "clean": clean,
                "background": background,
                "support": support,
                "structure_code": source.structure_code[rows],
                "semantic_code": source.semantic_code[rows],
                "prior_code": torch.from_numpy(self.prior.sample(count, rng)),
                "centre": centre.expand(count, -1),
                "structure": source.structure[rows],
            }

        return draw


def mode_sources(
    source: Source, modes: Modes, *, kind: PriorKind = "diagonal", pool: int, seed: int
) -> list[ModeSource]:
    """Fit prior, mask pool and residual size of every mode."""
    rng = np.random.default_rng(seed)
    residual, support = source.pairs.residual, source.pairs.support
    found = []
    for k, name in enumerate(modes.names):
        rows = np.flatnonzero(modes.assignment == k)
        kept = rng.choice(rows, size=min(pool, len(rows)), replace=False)
        scale = float(np.sqrt(np.mean(residual[rows][support[rows]] ** 2)))
        prior = fit_prior(source.semantic_code[rows].numpy(), kind)
        found.append(ModeSource(name, source, rows, prior, MaskPool(support[kept]), scale))
    return found


def draw_source_residuals(
    family: str, count: int, rng: np.random.Generator, *, window: int = WINDOW
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals x_a - x_n of `count` simulated pairs of one family, and their supports.

    For direct injection: simulated effects as they are, without semantics or context.

    >>> residual, support = draw_source_residuals("trend", 4, np.random.default_rng(0))
    >>> bool((residual[~support] == 0).all())
    True
    """
    seed = int(rng.integers(2**31))
    pairs = simulate_pairs(count, seed=seed, length=window, families=[family])
    return pairs.residual, pairs.support
