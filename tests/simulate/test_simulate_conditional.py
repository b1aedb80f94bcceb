"""Counterparts of given windows: the simulator's law under a fixed reference."""

import numpy as np
import pytest

from caps.errors import InputError
from caps.simulate import (
    CATALOGUE,
    FAMILIES,
    WINDOW,
    Bases,
    Place,
    draw_normal,
    simulate_counterparts,
    survey,
    visible,
)


@pytest.fixture(scope="module")
def bases() -> Bases:
    return survey(*draw_normal(np.random.default_rng(0), 48, 1_536))


def windows(bases: Bases, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.integers(0, len(bases.series), count), rng.integers(256, 1_024, count)


@pytest.mark.parametrize("family", FAMILIES)
def test_counterparts_belong_to_the_windows_that_were_given(bases: Bases, family: str) -> None:
    row, origin = windows(bases, 90)
    pairs = simulate_counterparts(bases, row, origin, family=family, rng=np.random.default_rng(0))
    given = bases.series[row[:, None], origin[:, None] + np.arange(WINDOW)]
    np.testing.assert_allclose(pairs.normal, np.clip(given, -12, 12), atol=1e-6)
    assert (pairs.residual[~pairs.support] == 0).all()
    assert pairs.support.any(axis=1).all()
    assert {CATALOGUE[code].family for code in pairs.operation} == {family}
    assert visible(pairs).mean() > 0.9


def test_an_operation_happens_only_where_the_window_has_what_it_changes(bases: Bases) -> None:
    row, origin = windows(bases, 400)
    rng = np.random.default_rng(0)
    pairs = simulate_counterparts(bases, row, origin, family="point", rng=rng)
    anchored = [CATALOGUE[code].place is Place.FEATURE for code in pairs.operation]
    assert any(anchored)
    for number in np.flatnonzero(anchored):
        features = bases.parts.features[row[number]] - origin[number]
        seen = (features[:, 1] > 0) & (features[:, 0] < WINDOW)
        touched = [pairs.support[number, max(a, 0) : b].any() for a, b in features[seen]]
        assert any(touched)


def test_events_lie_on_the_supports_that_were_given(bases: Bases) -> None:
    row, origin = windows(bases, 60)
    support = np.zeros((60, WINDOW), dtype=bool)
    for number, start in enumerate(np.random.default_rng(1).integers(4, 180, 60)):
        support[number, start : start + 50] = True
    rng = np.random.default_rng(0)
    pairs = simulate_counterparts(bases, row, origin, family="trend", rng=rng, support=support)
    assert (pairs.support & ~support).sum() == 0
    assert (pairs.support == support).all(axis=1).mean() > 0.9
    assert all(CATALOGUE[code].place is Place.ANYWHERE for code in pairs.operation)


def test_a_short_support_gets_an_operation_that_is_short(bases: Bases) -> None:
    row, origin = windows(bases, 200)
    support = np.zeros((200, WINDOW), dtype=bool)
    support[:, 100] = True
    rng = np.random.default_rng(0)
    pairs = simulate_counterparts(bases, row, origin, family="point", rng=rng, support=support)
    names = {CATALOGUE[code].name for code in pairs.operation}
    lengths = {
        name: next(each for each in CATALOGUE if each.name == name).lengths(rng, np.full(64, 32.0))
        for name in names
    }
    usual = [name for name, drawn in lengths.items() if drawn.min() <= 1]
    share = np.mean([CATALOGUE[code].name in usual for code in pairs.operation])
    assert share > 0.9


@pytest.mark.parametrize("origin", [-1, 1_536 - WINDOW + 1])
def test_windows_outside_their_series_are_refused(bases: Bases, origin: int) -> None:
    with pytest.raises(InputError, match="inside its series"):
        simulate_counterparts(
            bases,
            np.array([0]),
            np.array([origin]),
            family="point",
            rng=np.random.default_rng(0),
        )


def test_a_window_without_a_support_is_refused(bases: Bases) -> None:
    with pytest.raises(InputError, match="a support for each window"):
        simulate_counterparts(
            bases,
            np.array([0]),
            np.array([300]),
            family="point",
            rng=np.random.default_rng(0),
            support=np.zeros((1, WINDOW), dtype=bool),
        )
