"""The study of Proposition 1: distances, risks and slopes whose relations are known."""

from dataclasses import asdict, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caps.bench.studies.catalogue import STUDIES
from caps.bench.studies.study import StudyRun, write_report
from caps.bench.studies.supervision import (
    TargetConfig,
    Windows,
    cut_windows,
    draw_targets,
    ideal_effects,
    intermediate_effects,
    recovered_effects,
    shuffled_effects,
)
from caps.bench.studies.transfer import COMPARED, QUICK, sides_of, transfer, transfer_report
from caps.bench.studies.transfer_targets import measure_target
from caps.bench.studies.transport import (
    Effects,
    cross_entropy,
    effect_distances,
    energy_bound,
    steepness,
    wasserstein,
)
from caps.errors import InputError
from caps.realize import Pretrained
from untrained_weights import FAST, save_untrained_weights

TARGETS = TargetConfig(count=2, length=1_536, drawn=32)
TINY = replace(QUICK, targets=TARGETS, train_references=6, detector=replace(FAST, steps=12))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("weights") / "untrained"


@pytest.fixture(scope="module")
def weights(folder: Path) -> Pretrained:
    return save_untrained_weights(folder)


@pytest.fixture(scope="module")
def windows() -> Windows:
    bases, rows = draw_targets(TARGETS)
    return cut_windows(bases, rows[0], TARGETS, (2, 4), np.random.default_rng(0))[1]


@pytest.fixture(scope="module")
def cell(weights: Pretrained) -> dict[str, Any]:
    bases, rows = draw_targets(TINY.targets)
    return measure_target(weights, TINY, bases, rows[0], seed=0)


def law(rng: np.random.Generator, references: int = 2, draws: int = 5, time: int = 8) -> Effects:
    support = rng.random((references, draws, time)) < 0.5
    return Effects(rng.standard_normal(support.shape) * support, support)


def test_the_distance_of_laws_is_that_of_the_best_of_all_assignments() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = law(rng), law(rng)
    naive = []
    for reference in range(2):
        cost = np.zeros((5, 5))
        for i in range(5):
            for j in range(5):
                residual = ours.residual[reference, i] - theirs.residual[reference, j]
                differ = ours.support[reference, i] != theirs.support[reference, j]
                cost[i, j] = np.sqrt((residual**2).sum()) + differ.sum() / 8
        naive.append(min(cost[range(5), list(order)].mean() for order in permutations(range(5))))
    assert wasserstein(ours, theirs) == pytest.approx(np.mean(naive))


def test_two_samples_of_one_law_are_as_far_apart_as_chance_makes_them() -> None:
    rng = np.random.default_rng(1)
    first, second, third = (law(rng, references=40, draws=12) for _ in range(3))
    moved = replace(third, residual=third.residual + 0.7)
    assert wasserstein(first, second) == pytest.approx(wasserstein(first, third), rel=0.05)
    assert wasserstein(first, moved) > 1.15 * wasserstein(first, second)
    assert abs(energy_bound(first, second)) < 0.05
    assert 0.2 < energy_bound(first, moved) < wasserstein(first, moved)


def test_losses_are_those_that_detectors_are_trained_by() -> None:
    rng = np.random.default_rng(2)
    logits, support = rng.standard_normal((6, 16)) * 4, rng.random((6, 16)) < 0.3
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.from_numpy(logits), torch.from_numpy(support).double(), reduction="none"
    )
    np.testing.assert_allclose(cross_entropy(logits, support), entropy.mean(dim=1).numpy())


def test_slopes_are_the_largest_over_pairs_and_bound_the_loss() -> None:
    rng = np.random.default_rng(3)
    effects = law(rng, references=3, draws=7)
    windows = rng.standard_normal((3, 8))
    logits = 3 * np.sin(windows[:, None] + effects.residual)
    losses = cross_entropy(logits, effects.support)
    found = steepness(windows, effects, logits, losses)
    largest = 0.0
    for reference in range(3):
        distance = effect_distances(effects, effects, reference)
        gap = np.abs(losses[reference][:, None] - losses[reference])
        largest = max(largest, (gap[distance > 0] / distance[distance > 0]).max())
    assert found["loss"] == pytest.approx(largest)
    assert found["loss"] <= found["by_logits"] <= found["by_paper"]


def test_effects_that_are_moved_come_from_other_references(
    weights: Pretrained, windows: Windows
) -> None:
    effects = recovered_effects(weights, windows, 2, seed=0)
    moved = shuffled_effects(effects)
    for reference in range(len(windows)):
        own = (moved.residual[reference][:, None] == effects.residual[reference]).all(axis=-1)
        assert not own.any()
    assert wasserstein(effects, effects) == 0
    assert sorted(moved.residual.sum(axis=-1).ravel()) == pytest.approx(
        sorted(effects.residual.sum(axis=-1).ravel())
    )


def test_modes_that_are_missing_are_a_loss_of_coverage(
    weights: Pretrained, windows: Windows
) -> None:
    point_only = replace(weights, modes=(weights.modes[0],) * 3)
    ideal = ideal_effects(windows, 24, np.random.default_rng(0))
    whole, broken = (
        energy_bound(
            ideal, intermediate_effects(each, windows, 24, np.random.default_rng(1), candidates=1)
        )
        for each in (weights, point_only)
    )
    again = energy_bound(ideal, ideal_effects(windows, 24, np.random.default_rng(2)))
    assert abs(again) < 0.1
    assert broken > whole + 0.1


def test_more_candidates_come_nearer_to_the_codes(weights: Pretrained, windows: Windows) -> None:
    distances = []
    for candidates in (1, 8):
        rng = np.random.default_rng(5)
        effects = intermediate_effects(weights, windows, 12, rng, candidates=candidates)
        point = effects[np.arange(12)]
        anomalous = (windows.values[:, None] + point.residual).reshape(-1, 256)
        _, found = weights.encode(
            torch.from_numpy(anomalous.astype(np.float32)),
            torch.from_numpy(point.support.reshape(-1, 256)).float(),
        )
        wanted = weights.modes[0].prior.sample(48, np.random.default_rng(5))  # drawn first
        distances.append(np.linalg.norm(found.numpy() - wanted, axis=1).mean())
    assert distances[1] < distances[0]


def test_both_inequalities_hold_with_the_slopes_of_the_same_draws(cell: dict[str, Any]) -> None:
    """By the theorem of Kantorovich and Rubinstein they must, for samples as for laws."""
    steep = max(each["same_draws"]["loss"] for each in cell["detectors"].values())
    for name in COMPARED:
        sides = sides_of(cell, name)
        total = sides["Δ_cov"] + sides["Δ_real"]
        assert 0 < sides["largest difference of risks"] <= steep / 2 * cell["to_ideal"][name]
        assert cell["to_ideal"][name] <= total + 1e-9 or name == "direct"
        assert sides["excess ideal risk"] <= steep * total + sides["ε_learn"]
    for detector in cell["detectors"].values():
        own = detector["same_draws"]["loss"]
        for name in COMPARED:
            gap = abs(detector["risk"][name] - detector["risk"]["ideal"])
            assert gap <= own / 2 * cell["to_ideal"][name]


def test_an_inequality_that_fails_is_told(cell: dict[str, Any]) -> None:
    flat = {
        name: {**each, "other_draws": {**each["other_draws"], "loss": 1e-9}}
        for name, each in cell["detectors"].items()
    }
    broken = {**cell, "detectors": flat}
    assert not sides_of(broken, "caps")["holds"]
    report = transfer_report({("a", 0): broken, ("b", 0): cell, ("c", 0): cell}, asdict(TINY))
    assert not report.passed
    assert transfer_report({("a", 0): cell, ("b", 0): cell}, asdict(TINY)).passed


def test_the_page_has_both_sides_and_every_setting(
    cell: dict[str, Any], tmp_path: Path, weights: Pretrained, folder: Path
) -> None:
    cells = {(target, seed): cell for target in ("a", "b", "c") for seed in (0, 1)}
    report = transfer_report(cells, asdict(TINY))
    run = StudyRun(tmp_path, quick=True, weights=folder)
    text = write_report(STUDIES["transfer"], report, run).read_text(encoding="utf-8")
    names = {table.name for table in report.tables}
    assert {"distances", "first inequality", "second inequality", "families"} <= names
    assert f"| {sides_of(cell, 'caps')['Δ_cov']:.2f} [" in text
    gap = sides_of(cell, "shuffled")["largest difference of risks"]
    assert f"| {gap:.3f} [" in text
    assert report.facts["settings"]["detector"]["steps"] == 12
    assert (tmp_path / "results" / "transfer-2.png").is_file()


def test_modes_that_are_no_families_are_refused(tmp_path: Path, weights: Pretrained) -> None:
    clusters = tuple(replace(mode, name=f"cluster {n}") for n, mode in enumerate(weights.modes))
    replace(weights, modes=clusters).save(tmp_path / "weights")
    with pytest.raises(InputError, match="without clusters"):
        transfer(StudyRun(tmp_path, quick=True, weights=tmp_path / "weights"))
