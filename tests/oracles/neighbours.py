"""The nearest subsequences, and what lay beside them, one row at a time."""

import numpy as np

Numbers = list[float]


def naive_form(values: np.ndarray, form: str, least_std: float) -> tuple[np.ndarray, float, float]:
    """A subsequence in a form, with the level and the size that the form leaves out."""
    level = 0.0 if form == "raw" else float(np.mean(values))
    std = max(float(np.std(values)), least_std) if form == "znormalised" else 1.0
    return (values - level) / std, level, std


def naive_nearest_of_divisions(
    query: np.ndarray,
    stored: np.ndarray,
    form: str,
    least_std: float,
    divisions: int,
    excluded: range,
) -> Numbers:
    """The distance to the nearest one of each equal span of those stored; infinite for none."""
    mine, _, _ = naive_form(query, form, least_std)
    each, best = len(stored) // divisions, [np.inf] * divisions
    for number, subsequence in enumerate(stored):
        if number in excluded:
            continue
        other, _, _ = naive_form(subsequence, form, least_std)
        distance = float(np.sqrt(np.mean((mine - other) ** 2)))
        best[number // each] = min(best[number // each], distance)
    return best


def naive_expected(
    rows: np.ndarray,
    start: int | None,
    offset: int,
    form: str,
    then: np.ndarray,
    now: np.ndarray,
    least_std: float,
) -> float:
    """What lay at `offset` from a subsequence of training, with the level and size of `now`."""
    if start is None or not 0 <= start + offset < len(rows):
        return np.nan
    _, level, std = naive_form(then, form, least_std)
    _, wanted_level, wanted_std = naive_form(now, form, least_std)
    return float((rows[start + offset] - level) / std * wanted_std + wanted_level)


def naive_block_error(observed: np.ndarray, expected: np.ndarray, horizon: int) -> float:
    """The least error of any division (division, offset), of those with more than half known."""
    errors = []
    for division in expected:
        squares = [
            (here - there) ** 2
            for here, there in zip(observed[:horizon], division[:horizon], strict=True)
            if not np.isnan(here) and not np.isnan(there)
        ]
        if 2 * len(squares) > horizon:
            errors.append(float(np.sqrt(np.mean(squares))))
    return min(errors, default=np.nan)
