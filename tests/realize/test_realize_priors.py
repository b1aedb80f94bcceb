"""Priors, mask pools, mode organisation, the router and the selection of modes."""

import numpy as np
import pytest
import torch
from scipy.stats import kurtosis
from torch import Tensor

from caps.errors import InputError
from caps.realize import PRIORS, MaskPool, fit_prior, select_modes
from caps.realize.modes import Router, RouterStage
from caps.realize.source import organise
from caps.simulate import FAMILIES
from caps.training import Schedule, seeded, train


def correlated_codes(count: int = 20_000) -> np.ndarray:
    """Three dimensions of different std, the first two strongly correlated."""
    rng = np.random.default_rng(1)
    first = rng.normal(size=count)
    second = 0.9 * first + np.sqrt(1 - 0.81) * rng.normal(size=count)
    return np.stack([2 + first, -1 + 2 * second, 0.5 * rng.normal(size=count)], axis=1)


@pytest.mark.parametrize("kind", PRIORS)
def test_samples_have_the_moments_that_the_prior_was_fitted_to(kind: str) -> None:
    codes = correlated_codes()
    drawn = fit_prior(codes, kind).sample(80_000, np.random.default_rng(0))
    assert drawn.dtype == np.float32
    np.testing.assert_allclose(drawn.mean(0), codes.mean(0), atol=0.03)
    std = codes.std(0)
    if kind == "isotropic":
        std = np.full(3, np.sqrt(np.mean(std**2)))
    np.testing.assert_allclose(drawn.std(0), std, rtol=0.04)
    correlation = np.corrcoef(drawn.T)[0, 1]
    assert correlation == pytest.approx(0.9 if kind == "full" else 0, abs=0.03)


def test_only_the_student_prior_has_heavy_tails() -> None:
    codes, rng = correlated_codes(), np.random.default_rng(0)
    for kind in PRIORS:
        excess = kurtosis(fit_prior(codes, kind).sample(60_000, rng)[:, 0])
        if kind == "student":
            assert excess > 1.5  # 6 in the limit
        else:
            assert excess == pytest.approx(0, abs=0.15)


def test_a_constant_dimension_is_sampled_as_that_constant() -> None:
    codes = correlated_codes(500)
    codes[:, 1] = 7.0
    for kind in ("diagonal", "full", "student"):
        drawn = fit_prior(codes, kind).sample(50, np.random.default_rng(0))
        np.testing.assert_allclose(drawn[:, 1], 7.0, atol=1e-3)


def test_the_same_generator_gives_the_same_codes() -> None:
    prior = fit_prior(correlated_codes(500))
    first, second = (prior.sample(9, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_priors_that_cannot_be_fitted_are_refused() -> None:
    with pytest.raises(InputError, match="diagonal, isotropic, full, student"):
        fit_prior(correlated_codes(10), "cauchy")
    with pytest.raises(InputError, match="simulate more pairs"):
        fit_prior(correlated_codes(1))


def support(*spans: tuple[int, int], window: int = 64) -> np.ndarray:
    row = np.zeros(window, dtype=bool)
    for first, last in spans:
        row[first:last] = True
    return row


def test_relocated_supports_keep_their_shape_and_reach_every_place_alike() -> None:
    pool = MaskPool(support((10, 14), (17, 20))[None])
    drawn = pool.sample(12_000, np.random.default_rng(0))
    assert drawn.dtype == bool
    assert (drawn.sum(1) == 7).all()
    start = drawn.argmax(axis=1)
    for row, first in zip(drawn[:200], start[:200], strict=True):
        expected = support((first, first + 4), (first + 7, first + 10))
        np.testing.assert_array_equal(row, expected)
    count = np.bincount(start, minlength=64)
    assert (count[:55] > 0).all()
    assert (count[55:] == 0).all(), "no support is cut by being moved"
    expected = 12_000 / 55
    chi_square = ((count[:55] - expected) ** 2 / expected).sum()
    assert chi_square < 92  # the 0.1% point of chi-square with 54 degrees of freedom


@pytest.mark.parametrize("edge", [support((0, 9)), support((50, 64)), support((0, 64))])
def test_a_support_cut_by_an_edge_stays_where_it_is(edge: np.ndarray) -> None:
    drawn = MaskPool(edge[None]).sample(20, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, np.tile(edge, (20, 1)))


def test_supports_are_drawn_from_the_whole_pool() -> None:
    supports = np.stack([support((1, 1 + i)) for i in range(1, 41)])
    drawn = MaskPool(supports).sample(2000, np.random.default_rng(0))
    assert set(drawn.sum(axis=1)) == set(range(1, 41))


def test_the_families_are_the_default_modes() -> None:
    family = np.array([2, 0, 1, 1], dtype=np.int8)
    modes = organise(family, np.zeros((4, 2)), 0, seed=0)
    assert modes.names == FAMILIES
    assert modes.assignment.tolist() == [2, 0, 1, 1]
    assert modes.assignment.dtype == np.int64


@pytest.mark.parametrize("count", [1, 3, 5, 7])
def test_kmeans_finds_the_heaps_that_the_codes_form(count: int) -> None:
    rng = np.random.default_rng(0)
    heap = rng.integers(count, size=700)
    centre = 20 * rng.standard_normal((count, 5))
    codes = centre[heap] + rng.standard_normal((700, 5))
    modes = organise(np.zeros(700), codes, count, seed=0)
    assert len(modes) == len(modes.names) == count
    # One heap, one cluster, whatever its number.
    assert len(set(zip(heap, modes.assignment, strict=True))) == count
    again = organise(np.ones(700), codes, count, seed=0)
    np.testing.assert_array_equal(again.assignment, modes.assignment)


@pytest.mark.parametrize("count", [-1, 8])
def test_a_number_of_clusters_that_the_codes_cannot_fill_is_refused(count: int) -> None:
    with pytest.raises(InputError, match="choose another K"):
        organise(np.zeros(7), np.zeros((7, 2)), count, seed=0)


def test_the_router_learns_modes_that_are_plain_in_the_codes() -> None:
    with seeded(0, "router"):
        router = Router(structure=6, semantic=4, modes=3, hidden=16)

    def batches(count: int, rng: np.random.Generator) -> dict[str, Tensor]:
        mode = rng.integers(3, size=count)
        semantic = rng.standard_normal((count, 4)) + 4 * np.eye(3, 4)[mode]
        return {
            "structure_code": torch.from_numpy(rng.standard_normal((count, 6))).float(),
            "semantic_code": torch.from_numpy(semantic).float(),
            "mode": torch.from_numpy(mode),
        }

    schedule = Schedule(steps=150, batch=64, learning_rate=1e-2)
    train(RouterStage(router), batches, schedule, seed=0, name="router")
    unseen = batches(500, np.random.default_rng(1))
    scores = router.scores(unseen["structure_code"], unseen["semantic_code"])
    assert scores.shape == (500, 3)
    assert (scores >= 0).all()
    torch.testing.assert_close(scores.sum(1), torch.ones(500))
    assert (scores.argmax(1) == unseen["mode"]).float().mean() > 0.95


@pytest.mark.parametrize(
    ("scores", "rho", "expected"),
    [
        ([[0.1, 0.7, 0.2]], 0.8, [1, 2]),
        ([[0.05, 0.9, 0.05]], 0.8, [1]),
        ([[0.3, 0.3, 0.4]], 0.8, [2, 0, 1]),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.5, [0]),  # a tie goes to the first
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.51, [0, 2]),
        ([[0.2, 0.5, 0.3]], 0.8, [1, 2]),  # exactly rho is enough
        ([[0.2, 0.5, 0.3]], 1.0, [1, 2, 0]),
        ([[0.0, 1.0, 0.0]], 1.0, [1]),
        ([[1.0]], 0.8, [0]),
    ],
)
def test_the_fewest_top_modes_that_reach_rho_are_selected(
    scores: list[list[float]], rho: float, expected: list[int]
) -> None:
    assert select_modes(np.array(scores), rho=rho) == expected


def test_rho_one_selects_every_mode_despite_rounding() -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(7), size=50).astype(np.float32)
    assert sorted(select_modes(scores, rho=1.0)) == list(range(7))


@pytest.mark.parametrize("rho", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_outside_its_range_is_refused(rho: float) -> None:
    with pytest.raises(InputError, match=r"choose it in \(0, 1\]"):
        select_modes(np.array([[0.5, 0.5]]), rho=rho)


def test_no_known_anomalies_at_all_are_refused() -> None:
    with pytest.raises(InputError):
        select_modes(np.empty((0, 3)))
