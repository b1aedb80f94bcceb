"""Effects brought to the size and the roughness of others: what of a difference is due to these."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.recover.pairs import strength

SMOOTHED = 5  # rows of a moving mean: what it leaves over is what makes an effect rough
MOST_LEFT_OVER = 4.0  # times of it: no mixture makes three rows smooth
HALVINGS = 12
LEAST_SIZE = 1e-3


def like_source(
    residual: np.ndarray, support: np.ndarray, source: np.ndarray, source_support: np.ndarray
) -> np.ndarray:
    """The effects (n, time), with the sizes and roughness of so many of the source, rank by rank.

    >>> rng = np.random.default_rng(0)
    >>> effect, wanted = rng.normal(size=(2, 50, 64))
    >>> everywhere = np.ones((50, 64), bool)
    >>> made = like_source(effect, everywhere, 3 * wanted, everywhere)
    >>> bool(np.isclose(strength(made, everywhere).mean(), 3, atol=0.1))
    True
    """
    effect = np.where(support, residual, 0.0)
    smooth = np.where(support, _moving_mean(effect), 0.0)
    wanted = _by_rank(roughness(effect, support), roughness(source, source_support))
    least, most = np.zeros(len(effect)), np.full(len(effect), MOST_LEFT_OVER)
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        found = roughness(smooth + middle[:, None] * (effect - smooth), support)
        least, most = np.where(found < wanted, [middle, most], [least, middle])
    made = smooth + ((least + most) / 2)[:, None] * (effect - smooth)
    size = np.maximum(strength(made, support), LEAST_SIZE)
    larger = _by_rank(strength(effect, support), strength(source, source_support)) / size
    return np.asarray(larger[:, None] * made, dtype=residual.dtype)


def roughness(residual: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Mean absolute second difference over root mean square, of each effect in its support."""
    effect = np.where(support, residual, 0.0)
    bend = np.abs(np.diff(np.pad(effect, ((0, 0), (1, 1))), 2, axis=1))
    size = np.maximum(strength(effect, support), LEAST_SIZE)
    return np.asarray(bend.mean(axis=1, where=support) / size)


def _moving_mean(effect: np.ndarray) -> np.ndarray:
    padded = np.pad(effect, ((0, 0), (SMOOTHED // 2, SMOOTHED // 2)))
    return np.asarray(sliding_window_view(padded, SMOOTHED, axis=1).mean(axis=-1))


def _by_rank(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """At each place the one of `wanted` that has the rank of its value."""
    return np.asarray(np.sort(wanted)[np.argsort(np.argsort(values))])
