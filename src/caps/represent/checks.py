"""Does the representation do its work? Figures on unseen pairs, none of them used in training."""

import numpy as np
import torch
from torch import Tensor

from caps.represent.representation import Representation
from caps.simulate import FAMILIES, PairBatch

ROWS = 512  # rows in one forward pass


@torch.no_grad()
def encode_all(
    model: Representation, windows: np.ndarray, support: np.ndarray
) -> tuple[Tensor, Tensor]:
    """Structure and semantic codes of (count, time) windows, in batches."""
    whole = (torch.from_numpy(np.ascontiguousarray(array)) for array in (windows, support))
    rows = zip(*(torch.split(tensor, ROWS) for tensor in whole), strict=True)
    parts = [model.encode(window, mask.float()) for window, mask in rows]
    return torch.cat([z_s for z_s, _ in parts]), torch.cat([z_a for _, z_a in parts])


@torch.no_grad()
def decode_structure(model: Representation, z_s: Tensor) -> Tensor:
    """base(z_s) in batches: (count, time)."""
    return torch.cat([model.base(rows) for rows in torch.split(z_s, ROWS)])


def representation_checks(
    model: Representation, pairs: PairBatch, *, seed: int = 0
) -> dict[str, float]:
    """Figures of the codes and decoders on `pairs`; see docs/model-card.md for their meaning."""
    model.eval()
    rng = np.random.default_rng(seed)
    z_ns, z_na = encode_all(model, pairs.normal, pairs.support)
    z_as, z_a = encode_all(model, pairs.anomalous, pairs.support)
    normal, support = torch.from_numpy(pairs.normal), torch.from_numpy(pairs.support).float()
    base = decode_structure(model, z_ns)
    figures = {
        "base explains of the normals' variance": _explained(normal, base),
        "base explains of the variance inside windows": _explained(
            normal - normal.mean(1, keepdim=True), base - normal.mean(1, keepdim=True)
        ),
    }
    shuffled = torch.from_numpy(_shuffle_within(pairs.family, rng))
    residual = torch.from_numpy(pairs.anomalous) - normal
    right = _decode_effect(model, z_ns, z_a, support, base)
    wrong = _decode_effect(model, z_ns, z_a[shuffled], support, base)
    effects = {
        "res explains of {} energy": right,
        "Dec explains of {} energy": base + right - normal,
        "res with shuffled z_a, {}": wrong,
    }
    for k, family in enumerate(FAMILIES):
        rows = torch.from_numpy(pairs.family == k)
        for name, effect in effects.items():
            figures[name.format(family)] = _energy(residual, effect, rows, support)
    for name in effects:
        figures[name.format("mean")] = float(np.mean([figures[name.format(f)] for f in FAMILIES]))
    figures["probe: family from z_a"] = _probe(z_a.numpy(), pairs.family, rng)
    member = np.repeat([0, 1], len(pairs))
    both = torch.cat([z_ns, z_as]).numpy()
    groups = np.tile(np.arange(len(pairs)), 2)
    figures["probe: anomalous from z_s"] = _probe(both, member, rng, groups)
    figures["probe: anomalous from z_a"] = _probe(
        torch.cat([z_na, z_a]).numpy(), member, rng, groups
    )
    return figures


@torch.no_grad()
def _decode_effect(
    model: Representation, z_s: Tensor, z_a: Tensor, support: Tensor, base: Tensor
) -> Tensor:
    rows = zip(*(torch.split(tensor, ROWS) for tensor in (z_s, z_a, support, base)), strict=True)
    return torch.cat([model.residual(*batch) for batch in rows])


def _explained(truth: Tensor, estimate: Tensor) -> float:
    return 1 - float((truth - estimate).square().sum() / (truth - truth.mean()).square().sum())


def _energy(truth: Tensor, estimate: Tensor, rows: Tensor, support: Tensor) -> float:
    """Share of the rows' residual energy inside the support that the estimate explains."""
    missed = ((truth - estimate).square() * support)[rows]
    return 1 - float(missed.sum() / truth[rows].square().sum())


def _shuffle_within(family: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = np.arange(len(family))
    for k in np.unique(family):
        rows = rng.permutation(np.flatnonzero(family == k))
        order[rows] = np.roll(rows, 1)
    return order


def _probe(
    codes: np.ndarray,
    target: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> float:
    """Accuracy of a linear probe fitted on one half and read on the other; pairs stay together."""
    # A tenth of a second that a user's fit, which needs no checks, does not pay.
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    groups = np.arange(len(codes)) if groups is None else groups
    first_half = rng.permutation(groups.max() + 1) < (groups.max() + 1) // 2
    train = first_half[groups]
    scaler = StandardScaler().fit(codes[train])
    probe = LogisticRegression(max_iter=2000).fit(scaler.transform(codes[train]), target[train])
    return float(probe.score(scaler.transform(codes[~train]), target[~train]))
