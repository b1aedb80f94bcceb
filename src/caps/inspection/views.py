"""What an inspection looks at: codes of unseen pairs, their neighbours, recombinations, samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from caps.inspection.figures import STATUS, Cloud, Panel, PanelGrid, colour_of, varied
from caps.plots import FAMILY_COLOURS
from caps.realize import Pretrained, Source, encode_source
from caps.represent import encode_all
from caps.simulate import FAMILIES, GENERATORS, OPERATIONS, PairBatch

SHOWN = 5  # pairs in the figure of one expert
NEIGHBOURS = 15


@dataclass(frozen=True, slots=True)
class View:
    """Unseen pairs as one pretraining sees them: their codes and the mode each belongs to."""

    pretrained: Pretrained
    source: Source
    mode: np.ndarray  # (pairs,) index into the pretraining's modes

    @property
    def pairs(self) -> PairBatch:
        return self.source.pairs

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(mode.name for mode in self.pretrained.modes)


def view(pretrained: Pretrained, pairs: PairBatch) -> View:
    """Encode `pairs` and find each pair's mode."""
    source = encode_source(pretrained.representation, pairs, pretrained.code_scale)
    return View(pretrained, source, pretrained.assign(pairs.family, source.semantic_code))


def code_clouds(seen: View, *, seed: int) -> tuple[list[Cloud], dict[str, float]]:
    """Projections of z_s and z_a, and how alike nearest neighbours are in the full spaces."""
    pairs = seen.pairs
    anomalous, _ = encode_all(seen.pretrained.representation, pairs.anomalous, pairs.support)
    structure = torch.cat([seen.source.structure_code, anomalous]).numpy()
    semantic = seen.source.semantic_code.numpy()
    status = np.repeat([0, 1], len(pairs))
    partner = np.tile(np.arange(len(pairs)), 2)
    shares = {
        "same status among neighbours in z_s": neighbour_share(structure, status, partner),
        "same family among neighbours in z_a": neighbour_share(semantic, pairs.family, partner),
    }
    order = np.random.default_rng(seed).permutation(len(structure))
    mixed, projected = project(structure, seed=seed)[order], project(semantic, seed=seed)
    clouds = [
        Cloud("structure codes z_s by status", mixed, status[order], STATUS),
        Cloud("semantic codes z_a by family", projected, pairs.family, FAMILIES),
    ]
    if seen.names != FAMILIES:
        clouds.append(Cloud("semantic codes z_a by mode", projected, seen.mode, seen.names))
    return clouds, shares


def neighbour_share(codes: np.ndarray, label: np.ndarray, group: np.ndarray) -> float:
    """Mean share of a code's nearest neighbours that have its label; its own group is left out.

    >>> codes = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> neighbour_share(np.tile(codes, (8, 1)), np.tile([0, 0, 0, 1, 1, 1], 8), np.arange(48))
    1.0
    """
    scaled = StandardScaler().fit_transform(codes)
    count = min(NEIGHBOURS + 2, len(codes))  # itself and its partner are among them
    near = NearestNeighbors(n_neighbors=count).fit(scaled).kneighbors(scaled)[1]
    others = group[near] != group[: len(codes), None]
    alike = (label[near] == label[:, None]) & others
    return float((alike.sum(1) / others.sum(1)).mean())


def project(codes: np.ndarray, *, seed: int) -> np.ndarray:
    """t-SNE of the codes' principal components: (count, 2)."""
    main = PCA(min(30, *codes.shape), random_state=seed)
    flat = TSNE(perplexity=min(30.0, (len(codes) - 1) / 3), init="pca", random_state=seed)
    return np.asarray(make_pipeline(StandardScaler(), main, flat).fit_transform(codes))


def originals(pairs: PairBatch) -> list[int]:
    """One clear pair of every family, on different generators: the first that fits best.

    Clear: one event that does not touch the window's edges and is neither too short to be seen nor
    most of the window, a residual above its family's median, and a season with two cycles in the
    window.
    """
    support = pairs.support
    share = support.mean(axis=1)
    shortest = np.where(pairs.family == FAMILIES.index("point"), 0.01, 0.12)
    clear = (
        (pairs.parameter("events") == 1).astype(int)
        + ~(support[:, 0] | support[:, -1])
        + ((share > shortest) & (share < 0.5))
        + (np.nan_to_num(pairs.period, nan=np.inf) <= support.shape[1] / 2)
    )
    size = np.sqrt((pairs.residual**2).sum(1) / np.maximum(support.sum(1), 1))
    chosen: list[int] = []
    for k in range(len(FAMILIES)):
        rows = np.flatnonzero(pairs.family == k)
        fit = clear[rows] + (size[rows] > np.median(size[rows]))
        fit = fit + 2 * ~np.isin(pairs.generator[rows], pairs.generator[chosen])
        chosen.append(int(rows[fit.argmax()]))
    return chosen


def recombined(seen: View, *, seed: int) -> tuple[PanelGrid, PanelGrid]:
    """Each family's code on three references: by the experts (x + r^), and by Dec(z_s, z_a, m)."""
    chosen = originals(seen.pairs)
    pretrained, pairs = seen.pretrained, seen.pairs
    structure = seen.source.structure_code[chosen]
    _, raw = encode_all(pretrained.representation, pairs.anomalous[chosen], pairs.support[chosen])
    made, decoded = [], []
    for column, row in enumerate(chosen):
        support = np.repeat(pairs.support[row : row + 1], len(chosen), axis=0)
        code = seen.source.semantic_code[row].expand(len(chosen), -1)
        made.append(counterparts(seen, chosen, seen.mode[row], code, support, seed=seed))
        with torch.no_grad():
            effect = pretrained.representation.decode(
                structure, raw[column].expand(len(chosen), -1), torch.from_numpy(support).float()
            )
        decoded.append(effect.numpy())
    return _recombination_grid(seen, chosen, made), _recombination_grid(seen, chosen, decoded)


def expert_samples(seen: View, k: int, *, seed: int) -> PanelGrid | None:
    """Unseen pairs of mode k, and what its expert makes of their structures and supports."""
    own = np.flatnonzero(seen.mode == k)
    if not own.size:
        return None
    rows = varied(own, seen.pairs.operation[own], SHOWN)
    pretrained, pairs = seen.pretrained, seen.pairs[rows]
    rng = np.random.default_rng(seed)
    draws = [(seen.source.semantic_code[rows], 0.0)]
    for _ in range(2):
        code = torch.from_numpy(pretrained.modes[k].prior.sample(len(rows), rng))
        draws.append((code, pretrained.preset.realize.semantic_blur))
    columns = [pairs.anomalous] + [
        counterparts(seen, rows, k, code, pairs.support, blur=blur, seed=seed + number)
        for number, (code, blur) in enumerate(draws)
    ]
    colour = colour_of(seen.names[k], k)
    panels = [
        [
            Panel(
                pairs.normal[i],
                values[i],
                pairs.support[i],
                colour,
                truth=pairs.anomalous[i] if number == 1 else None,
            )
            for number, values in enumerate(columns)
        ]
        for i in range(len(rows))
    ]
    labels = [
        f"{OPERATIONS[operation]}\non {GENERATORS[generator]}"
        for operation, generator in zip(pairs.operation, pairs.generator, strict=True)
    ]
    titles = ["simulated pair", "expert, the pair's code", "expert, prior (1)", "expert, prior (2)"]
    return PanelGrid(panels, labels, titles, one_scale=True)


def counterparts(
    seen: View,
    rows: Sequence[int],
    mode: int,
    semantic_code: Tensor,
    support: np.ndarray,
    *,
    blur: float = 0.0,
    seed: int,
) -> np.ndarray:
    """x + r^ for each reference; with the `sequence` mechanism what the expert draws itself."""
    pretrained = seen.pretrained
    drawn = pretrained.realize(
        pretrained.modes[mode],
        seen.source.structure_code[rows],
        semantic_code,
        torch.from_numpy(support).float(),
        blur=blur,
        generator=torch.Generator().manual_seed(seed),
    ).numpy()
    if pretrained.preset.realize.mechanism == "sequence":
        return drawn
    return np.asarray(seen.pairs.normal[rows] + drawn * support)


def _recombination_grid(
    seen: View, chosen: Sequence[int], columns: Sequence[np.ndarray]
) -> PanelGrid:
    pairs = seen.pairs
    panels = [
        [
            Panel(
                pairs.normal[reference],
                columns[column][line],
                pairs.support[source],
                FAMILY_COLOURS[FAMILIES[column]],
                truth=pairs.anomalous[source] if line == column else None,
                framed=line == column,
            )
            for column, source in enumerate(chosen)
        ]
        for line, reference in enumerate(chosen)
    ]
    rows = [
        f"reference {k + 1}\n{GENERATORS[pairs.generator[row]]}" for k, row in enumerate(chosen)
    ]
    titles = []
    for family, row in zip(FAMILIES, chosen, strict=True):
        mode = seen.names[seen.mode[row]]
        by = "" if mode == family else f", {mode}"
        titles.append(f"{family} code{by}\n({OPERATIONS[pairs.operation[row]]})")
    # Not on one scale: a spike would flatten the other columns of its row.
    return PanelGrid(panels, rows, titles)
