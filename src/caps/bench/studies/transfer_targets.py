"""What Proposition 1 needs of one simulated target: distances, risks, and slopes of detectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caps.bench.studies.supervision import (
    CAPS,
    DIRECT,
    IDEAL,
    INTERMEDIATE,
    SHUFFLED,
    TargetConfig,
    Windows,
    as_pairs,
    cut_windows,
    ideal_effects,
    intermediate_effects,
    recovered_effects,
    shuffled_effects,
)
from caps.bench.studies.transport import (
    Effects,
    cross_entropy,
    energy_bound,
    logits_of,
    steepness,
    wasserstein,
)
from caps.network import Detector, DetectorConfig, train_detector
from caps.realize import Pretrained
from caps.simulate import FAMILIES, Bases
from caps.training import seeded

# A quarter of the small detector: five of them are trained for each target and seed.
SMALL = DetectorConfig(width=16, members=1, steps=80, learning_rate=4e-3, dilations=(1, 4, 16))


@dataclass(frozen=True, slots=True)
class TransferConfig:
    """Every number that changes a figure of the study."""

    targets: TargetConfig = field(default_factory=TargetConfig)
    references: int = 4  # of a target, on which risks and distances are measured
    each: int = 9  # draws of every family for each of them, twice
    train_references: int = 48  # each with one counterpart of every family
    candidates: int = 4  # of the simulator for each code of the intermediate law
    untrained: int = 1  # detectors with random weights
    detector: DetectorConfig = SMALL


def measure_target(
    pretrained: Pretrained, config: TransferConfig, bases: Bases, row: int, seed: int
) -> dict[str, Any]:
    """Distances, risks and slopes of one target; every law is drawn twice, for two samples."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(row,)))
    counts = (config.train_references, config.references)
    train, measured = cut_windows(bases, row, config.targets, counts, rng)
    detectors = _detectors(pretrained, config, train, rng)
    both = draw_laws(pretrained, measured, 2 * config.each, config.candidates, rng)
    half = np.arange(both[IDEAL].draws) % (2 * config.each) < config.each
    first, second = ({law: both[law][draws] for law in both} for draws in (half, ~half))
    uncoded = intermediate_effects(pretrained, measured, 2 * config.each, rng, candidates=1)
    return {
        "size": first[IDEAL].size,
        "same": {law: wasserstein(first[law], second[law]) for law in first},
        "at_least": {
            **{f"{law} to ideal": energy_bound(both[IDEAL], both[law]) for law in both},
            **{
                f"{law} to intermediate": energy_bound(both[INTERMEDIATE], both[law])
                for law in (CAPS, SHUFFLED)
            },
        },
        "to_ideal": {law: wasserstein(first[IDEAL], first[law]) for law in first},
        "to_intermediate": {
            law: wasserstein(first[INTERMEDIATE], first[law]) for law in (CAPS, SHUFFLED)
        },
        "direct_to_other_ideal": wasserstein(second[IDEAL], first[DIRECT]),
        "uncoded": {
            "to ideal": energy_bound(both[IDEAL], uncoded),
            "caps to it": energy_bound(uncoded, both[CAPS]),
        },
        "families": _families(first, second, config.each),
        "detectors": {
            name: _judged(detector, measured, first, second) for name, detector in detectors.items()
        },
    }


def draw_laws(
    pretrained: Pretrained, windows: Windows, each: int, candidates: int, rng: np.random.Generator
) -> dict[str, Effects]:
    """`each` draws of every family from every law, given each reference."""
    caps, direct = (
        recovered_effects(pretrained, windows, each, int(rng.integers(2**31)), construction)
        for construction in ("caps", "direct")
    )
    return {
        IDEAL: ideal_effects(windows, each, rng),
        INTERMEDIATE: intermediate_effects(pretrained, windows, each, rng, candidates=candidates),
        CAPS: caps,
        SHUFFLED: shuffled_effects(caps),
        DIRECT: direct,
    }


def _detectors(
    pretrained: Pretrained, config: TransferConfig, train: Windows, rng: np.random.Generator
) -> dict[str, Detector]:
    """One trained on each law with the same references and first weights, and untrained ones."""
    seed = int(rng.integers(2**31))
    laws = draw_laws(pretrained, train, 1, config.candidates, rng)
    found = {
        law: train_detector(as_pairs(train, effects), config.detector, seed)
        for law, effects in laws.items()
    }
    for number in range(config.untrained):
        with seeded(seed + 1 + number, "detector"):
            found[f"untrained {number + 1}"] = Detector(config.detector).eval()
    return found


def _judged(
    detector: Detector,
    measured: Windows,
    first: Mapping[str, Effects],
    second: Mapping[str, Effects],
) -> dict[str, Any]:
    """Risks under every law, from the first draws, and slopes from the first and the second."""
    windows = measured.values
    normal = cross_entropy(logits_of(detector, windows), np.zeros(windows.shape)).mean()
    losses, slope = _on_effects(detector, windows, first)
    _, other = _on_effects(detector, windows, second)
    by_law = zip(first, np.split(losses, len(first), axis=1), strict=True)
    return {
        "risk": {law: float((normal + each.mean()) / 2) for law, each in by_law},
        "same_draws": slope,
        "other_draws": other,
    }


def _on_effects(
    detector: Detector, windows: np.ndarray, laws: Mapping[str, Effects]
) -> tuple[np.ndarray, dict[str, float]]:
    """Losses (references, draws of all laws in turn) and how steep they are."""
    every = Effects.joined(list(laws.values()))
    observed = (windows[:, None] + every.residual).reshape(-1, windows.shape[1])
    logits = logits_of(detector, observed).reshape(every.residual.shape)
    losses = cross_entropy(logits, every.support)
    return losses, steepness(windows, every, logits, losses)


def _families(
    first: Mapping[str, Effects], second: Mapping[str, Effects], each: int
) -> dict[str, dict[str, float]]:
    """Targets with anomalies of one family only: all modes for them, or the right one alone."""
    found = {}
    mixed = np.arange(0, len(FAMILIES) * each, len(FAMILIES))  # `each` draws, of all families
    for number, family in enumerate(FAMILIES):
        own = np.arange(number * each, (number + 1) * each)
        found[family] = {"same": wasserstein(first[IDEAL][own], second[IDEAL][own])}
        for kind, draws in (("all", mixed), ("own", own)):
            laws = {IDEAL: own, INTERMEDIATE: draws, CAPS: draws}
            ideal, known, caps = (first[law][rows] for law, rows in laws.items())
            both = [
                Effects.joined([first[law][rows], second[law][rows]]) for law, rows in laws.items()
            ]
            found[family] |= {
                f"cov_{kind}": wasserstein(ideal, known),
                f"real_{kind}": wasserstein(known, caps),
                f"cov_{kind}_at_least": energy_bound(both[0], both[1]),
                f"real_{kind}_at_least": energy_bound(both[1], both[2]),
            }
    return found
