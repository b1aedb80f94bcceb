"""Anomalies among the references are ignored; normal points are not."""

import numpy as np
import pytest

from caps.errors import InputError
from caps.recover import References, reference_windows, suspicion, trim_references

NOISE = 0.1


def season(rng: np.random.Generator, length: int = 2500) -> np.ndarray:
    return np.asarray(np.sin(np.arange(length) / 6) + NOISE * rng.standard_normal(length))


def trust(references: References, length: int) -> np.ndarray:
    """For each row of the series, the share of the windows with it that trust it."""
    rows = (references.starts[:, None] + np.arange(256)).ravel()
    trusted = np.bincount(rows, references.trusted.ravel(), minlength=length)
    return np.asarray(trusted / np.maximum(np.bincount(rows, minlength=length), 1))


def trimmed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return trust(trim_references(reference_windows(values, rng=rng), rng=rng), len(values))


def test_a_clean_series_keeps_nearly_all_of_its_points(rng: np.random.Generator) -> None:
    assert trimmed(season(rng), rng).mean() > 0.95


@pytest.mark.parametrize("kind", ["spike", "level", "stop", "faster"])
def test_an_event_is_distrusted_and_its_surroundings_are_not(
    kind: str, rng: np.random.Generator
) -> None:
    values, event = season(rng), slice(1200, 1202 if kind == "spike" else 1300)
    steps = np.arange(event.start, event.stop)
    changes = {
        "spike": values[event] + 4,
        "level": values[event] + 2,
        "stop": 0 * values[event],
        "faster": np.sin(steps / 2) + NOISE * rng.standard_normal(len(steps)),
    }
    values[event] = changes[kind]
    trusted = trimmed(values, rng)
    assert trusted[event].mean() < 0.3
    assert trusted[: event.start - 100].mean() > 0.95
    assert trusted[event.stop + 100 :].mean() > 0.95


def test_an_event_that_came_twice_before_does_not_hide(rng: np.random.Generator) -> None:
    values = season(rng)
    for start in (500, 1200, 1900):
        values[start : start + 30] = 2.5
    trusted = trimmed(values, rng)
    assert all(trusted[start + 4 : start + 26].mean() < 0.3 for start in (500, 1200, 1900))


def test_never_more_than_the_limit_is_distrusted(rng: np.random.Generator) -> None:
    values = season(rng)
    for start in range(100, 2400, 200):
        values[start : start + 60] += rng.uniform(-5, 5)
    references = reference_windows(values, rng=rng)
    for limit in (0.0, 0.05, 0.15):
        kept = trim_references(references, limit=limit, rng=np.random.default_rng(0))
        assert (~kept.trusted).sum() <= limit * references.trusted.size + 1
    with pytest.raises(InputError, match="share"):
        trim_references(references, limit=1.0, rng=rng)


def test_references_that_lose_more_than_half_are_dropped(rng: np.random.Generator) -> None:
    values = season(rng, 6000)
    values[3000:3260] = 3 + rng.standard_normal(260)
    references = reference_windows(values, rng=rng)
    kept = trim_references(references, rng=rng)
    assert len(kept) < len(references)
    assert (kept.trusted.mean(axis=1) >= 0.5).all()
    assert 3000 in references.starts
    assert 3000 not in kept.starts


def test_values_stay_and_gaps_stay_distrusted(rng: np.random.Generator) -> None:
    values = season(rng)
    values[700:760] = np.nan
    references = reference_windows(values, rng=rng)
    kept = trim_references(references, rng=rng)
    assert (kept.windows == references.windows).all()
    assert not (kept.trusted & ~references.trusted).any()


def test_constant_and_very_short_series_are_left_alone(rng: np.random.Generator) -> None:
    for values in (np.zeros(1000), np.arange(5.0), np.ones(256)):
        references = reference_windows(values, rng=rng)
        assert trim_references(references, rng=rng).trusted.all()
        assert np.isfinite(suspicion(references, rng=rng)).all()
