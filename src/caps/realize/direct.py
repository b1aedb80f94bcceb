"""Direct source-residual injection: simulated effects as they are, without semantics or context."""

import numpy as np

from caps.simulate import WINDOW, simulate_pairs


def draw_source_residuals(
    family: str, count: int, rng: np.random.Generator, *, window: int = WINDOW
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals x_a - x_n of `count` simulated pairs of one family, and their supports.

    >>> residual, support = draw_source_residuals("trend", 4, np.random.default_rng(0))
    >>> bool((residual[~support] == 0).all())
    True
    """
    seed = int(rng.integers(2**31))
    pairs = simulate_pairs(count, seed=seed, length=window, families=[family])
    return pairs.residual, pairs.support
