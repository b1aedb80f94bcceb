"""Generated counterparts beside real anomalies, as a trained detector sees them (appendix D.4)."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import wasserstein_distance
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from caps.bench.datasets import SeriesFile, labelled_spans, load_series
from caps.bench.rendering import frame_table
from caps.bench.studies.drawing import draw_stacks
from caps.bench.studies.study import Report, StudyRun
from caps.bench.studies.variants import realized, scaled_channel
from caps.network import Detector, DetectorConfig, held_out_blocks, train_detector
from caps.realize import Pretrained, draw_source_residuals
from caps.recover import RULES, References, Site, known_windows, recover_pairs, reference_windows

DISTANCES = ("score", "feature")
RULE_BASED, DIRECT, OURS = "Rule-based injection", "Direct source-residual injection", "CAPS"
PAPER = {RULE_BASED: (0.4531, 0.6218), DIRECT: (0.4783, 0.6712), OURS: (0.3990, 0.6123)}
NEIGHBOURS = 5
TRAINING = 384  # references that the detector learns from
MOST_REAL = 256
WINDOW = 256


def diagnostics(run: StudyRun) -> Report:
    """Score and feature distances of three kinds of counterparts to real anomalies."""
    held = 16 if run.quick else 96
    shared = {
        "held": held,
        "weights": run.weights_facts()["manifest_sha256"],
        "detector": (run.detector or DetectorConfig()).to_dict(),
    }
    found: list[dict[str, Any]] = []
    skipped = 0
    for file, seed in product(run.needed(), run.seeds):
        run.say(f"counterparts on {file.name}")
        key = {"series": file.name, "seed": seed, **shared}
        measured = run.kept("diagnostics", key, partial(_measured, run, file, seed, held))
        skipped += not measured
        of_file = {"dataset": file.dataset, "series": file.name}
        found += [{"source": source, **of_file, **each} for source, each in measured.items()]
    frame = pd.DataFrame(found, columns=["source", "dataset", *DISTANCES])
    by_dataset = frame.groupby(["source", "dataset"])[[*DISTANCES]].mean()
    means = by_dataset.groupby("source").mean().reindex(list(PAPER))
    paper = pd.DataFrame.from_dict(PAPER, orient="index", columns=[*DISTANCES])
    table = pd.concat([means, paper.add_prefix("Paper: ")], axis=1).rename(columns=str.capitalize)
    notes = [
        "Lower is nearer to real anomalies. Score: Wasserstein distance between the distributions "
        "of the mean score on the support. Feature: mean distance to the five nearest real "
        "anomalies of the last hidden layer, averaged over the support and scaled to length 1."
    ]
    if skipped:
        notes.append(f"Left out: {skipped} series without enough held-out rows or real anomalies.")
    picture = draw_stacks(
        [f"{source}: {kind}" for source, kind in product(PAPER, DISTANCES)],
        {"distance to real anomalies": means.to_numpy().ravel().tolist()},
        across="distance",
    )
    digits = dict.fromkeys(table.columns, 4)
    title = "Distance to real anomalies"
    return Report(
        "Counterparts against real anomalies",
        [
            f"The detector is trained on CAPS pairs of three quarters of the training part; {held} "
            "held-out references for each family get counterparts of all three kinds on the same "
            "supports, those of simulated residuals. Labels only name the real anomalies of the "
            "test part. Mean over series, then over datasets. The detector is CAPS's own, which "
            "may favour its counterparts. Of training parts below 512 rows the last window is held "
            "out, which then overlaps the rows learned from.",
        ],
        [frame_table("diagnostics", title, table, "Positive source", digits, notes)],
        _verdict(means),
        {"Distances to real anomalies.": picture},
        {"measured": found},
    )


def _measured(run: StudyRun, file: SeriesFile, seed: int, held: int) -> dict[str, dict[str, float]]:
    """Both distances of every source on one series; empty where they cannot be measured."""
    series = load_series(file)
    scaled = scaled_channel(series)
    anomalies = labelled_spans(series.labels, series.train)
    kept, spare = held_out_blocks(series.train, size=WINDOW)
    spare = [block for block in spare if block.stop - block.start >= WINDOW]
    if not spare or kept == spare:
        kept, spare = _halves(series.train)
    if not anomalies or not spare:
        return {}
    rng = np.random.default_rng(seed)
    learned = _windows(scaled, kept, TRAINING, rng)
    unseen = _windows(scaled, spare, held, rng)
    trusted = np.ones(learned.shape, dtype=np.bool_)
    references = References(learned, np.arange(len(learned)), trusted)
    pairs = recover_pairs(run.pretrained, references, seed=seed)
    detector = train_detector(pairs, run.detector, seed)
    windows, support = known_windows(scaled, anomalies)
    truth = _seen_by(detector, windows[:MOST_REAL], support[:MOST_REAL])
    return {
        source: _distances(_seen_by(detector, *made), truth)
        for source, made in _counterparts(run.pretrained, unseen, rng).items()
    }


def _halves(train: int) -> tuple[list[slice], list[slice]]:
    """A part too short for blocks: its last window is held out, if one is left to learn from."""
    if train < 320:
        return [], []
    cut = max(WINDOW, train - WINDOW)
    return [slice(0, cut)], [slice(train - WINDOW, train)]


def _windows(
    scaled: np.ndarray, blocks: list[slice], limit: int, rng: np.random.Generator
) -> np.ndarray:
    parts = [reference_windows(scaled[block], limit=limit, rng=rng).windows for block in blocks]
    whole = np.concatenate(parts)
    drawn = rng.choice(len(whole), min(limit, len(whole)), replace=False)
    return np.asarray(whole[np.sort(drawn)])


def _counterparts(
    pretrained: Pretrained, references: np.ndarray, rng: np.random.Generator
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Counterparts of every source on the same references and supports."""
    made: dict[str, list[np.ndarray]] = {source: [] for source in PAPER}
    supports = []
    structure, _ = pretrained.encode(torch.from_numpy(references))
    for mode in pretrained.modes:
        residual, support = draw_source_residuals(mode.name, len(references), rng)
        supports.append(support)
        made[RULE_BASED].append(_by_rules(references, support, rng))
        made[DIRECT].append(references + residual * support)
        codes = torch.from_numpy(mode.prior.sample(len(references), rng))
        drawn = realized(pretrained, mode, structure, support, codes, seed=int(rng.integers(2**62)))
        made[OURS].append(references + drawn * support)
    support = np.concatenate(supports)
    return {source: (np.concatenate(parts), support) for source, parts in made.items()}


def _by_rules(references: np.ndarray, support: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One rule for each reference, applied to every run of its support."""
    counterpart = references.copy()
    for window, mask in zip(counterpart, support, strict=True):
        rule = RULES[rng.integers(len(RULES))]
        for start, stop in labelled_spans(mask):
            window[start:stop] = rule(Site(window.copy(), start, stop, references), rng)
    return counterpart


@torch.no_grad()
def _seen_by(
    detector: Detector, windows: np.ndarray, support: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean score on each support, and the features of the last hidden layer there."""
    seen: list[Tensor] = []

    def keep(module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen.append(inputs[0])

    hooks = [member.head.register_forward_pre_hook(keep) for member in detector.members]  # type: ignore[union-attr]
    try:
        logits = detector(torch.from_numpy(np.ascontiguousarray(windows, dtype=np.float32)))
    finally:
        for hook in hooks:
            hook.remove()
    mask = torch.from_numpy(support).float()
    count = mask.sum(1).clamp(min=1)
    score = (logits.sigmoid() * mask).sum(1) / count
    features = []
    for hidden in seen:  # (batch, width, time)
        inside = mask.reshape(len(mask), hidden.shape[-1], -1).amax(-1)
        pooled = (hidden * inside.unsqueeze(1)).sum(-1) / inside.sum(1, keepdim=True).clamp(min=1)
        features.append(torch.nn.functional.normalize(pooled, dim=1))
    together = torch.nn.functional.normalize(torch.cat(features, dim=1), dim=1)
    return score.numpy(), together.numpy()


def _distances(
    made: tuple[np.ndarray, np.ndarray], real: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    count = min(NEIGHBOURS, len(real[1]))
    near, _ = NearestNeighbors(n_neighbors=count).fit(real[1]).kneighbors(made[1])
    return {
        "score": float(wasserstein_distance(made[0], real[0])),
        "feature": float(near.mean()),
    }


def _verdict(means: pd.DataFrame) -> list[str]:
    own = means.loc[OURS]
    if own.isna().any():
        return ["Nothing could be measured."]
    lines = []
    for source in (name for name in PAPER if name != OURS):
        for index, kind in enumerate(DISTANCES):
            theirs = float(means[kind][source])
            says = "nearer" if own[kind] < theirs else "**farther, against the paper**"
            lines.append(
                f"By {kind}, counterparts of CAPS are {says} than {source.lower()}: "
                f"{own[kind]:.3f} to {theirs:.3f} (paper {PAPER[OURS][index]:.3f} to "
                f"{PAPER[source][index]:.3f})."
            )
    return [
        *lines,
        "The paper does not say how features are scaled: compare the order, not the size.",
    ]
