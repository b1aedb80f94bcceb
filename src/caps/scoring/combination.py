"""How the parts of a memory become one amount of evidence for each row, local in time.

A subsequence that holds one odd row is odd as a whole, and so are the contexts that hold it: both
would drag an echo behind, or throw one ahead. What followed and what preceded the row has none, so
subsequences count only as far as forecasts agree.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from caps.arrays import FloatArray, Rows
from caps.scoring.config import ScoringConfig

Blocks = Mapping[int, FloatArray]  # evidence of blocks of rows or subsequences, by their length


def soft_maximum(parts: FloatArray | Iterable[FloatArray], sharpness: float) -> FloatArray:
    """`sharpness` log mean exp(part / `sharpness`); not-a-number where no part knows a row.

    The loudest parts count most, but many that agree are louder than one. A part that does not know
    a row is a silent one: were it left out, the others would be louder where a series begins.
    """
    values = parts if isinstance(parts, np.ndarray) else np.stack(list(parts))
    known = np.isfinite(values)
    loud = np.exp(np.where(known, values, -np.inf) / sharpness)
    mean = loud.sum(axis=0) / len(values)
    return np.where(known.any(axis=0), sharpness * np.log(np.maximum(mean, 1e-300)), np.nan)


def both_sides(ahead: Blocks, behind: Blocks) -> Blocks:
    """What blocks say of each of their rows, by the side that finds it less odd.

    A block of `ahead` stands at its last row, one of `behind` at its first.
    """
    said = {}
    for horizon, evidence in ahead.items():
        rows = np.arange(len(evidence))
        before = mean_between(evidence, rows, rows + horizon - 1)
        after = mean_between(behind[horizon], rows - horizon + 1, rows)
        said[horizon] = np.fmin(before, after)
    return said


def in_hindsight(
    blocks: Blocks,
    subsequences: Blocks,
    config: ScoringConfig,
    calendar: Sequence[FloatArray] = (),
    *,
    calibrating: bool = False,
) -> FloatArray:
    """The evidence of rows with their surroundings on either side; `subsequences` by their length.

    Subsequences rank rows best, forecasts see what is short: they count up to a bound beyond what
    subsequences say, as one row of a series that is hard to foretell is no event by itself. What
    is one peak is one event, so that its rows rank together, and those around it next to them;
    `calibrating`, peaks are to be counted, and what is around them is no other.
    """
    sharpness = config.sharpness_of_lengths
    said = soft_maximum(blocks.values(), sharpness)
    if subsequences:
        of_lengths = _held_back(subsequences, config)
        novelty = _one_a_peak(of_lengths, config)
        bounded = np.where(np.isnan(said), np.nan, np.fmin(said, novelty + config.forecast_bound))
        if not calibrating:
            novelty = _with_surroundings(novelty, of_lengths, config)
        said = soft_maximum([novelty, bounded], sharpness)
    return _or_calendar(plateaus(said, config.last_plateau), calendar)


def _held_back(subsequences: Blocks, config: ScoringConfig) -> Blocks:
    """The shortest and the longest subsequences say a little less than those between."""
    shortest, longest = config.middle_lengths
    return {
        length: each if shortest <= length <= longest else each - config.beyond_middle
        for length, each in subsequences.items()
    }


def _one_a_peak(of_lengths: Blocks, config: ScoringConfig) -> FloatArray:
    """What all lengths say, its peaks levelled as deep as the length that is loudest there."""
    evidence = np.stack(list(of_lengths.values()))
    loudest = np.where(np.isfinite(evidence), evidence, -np.inf).argmax(axis=0)
    depths = config.plateau * np.sqrt(list(of_lengths))
    return plateaus(soft_maximum(evidence, config.sharpness_of_lengths), depths[loudest])


def _with_surroundings(
    novelty: FloatArray, of_lengths: Blocks, config: ScoringConfig
) -> FloatArray:
    """Rows around a peak of longer subsequences next to it, and none of them an alarm for that."""
    for length, each in of_lengths.items():
        if length >= config.surrounding_length:
            peaks = plateaus(each, config.plateau * np.sqrt(length))
            beside = surroundings(peaks, int(config.surroundings * length))
            around = np.minimum(config.surrounding_share * beside, config.surrounding_most)
            novelty = np.where(beside > 0, np.maximum(novelty, around), novelty)
    return novelty


def plateaus(evidence: FloatArray, depth: FloatArray | float) -> FloatArray:
    """Evidence with its peaks levelled: rows less than `depth` below the peak they lead up to.

    The h-maxima of morphology. A peak is lowered by its depth, so that those of one depth keep
    their order. What was not observed parts none.

    >>> plateaus(np.array([0.0, 3.0, 2.8, 3.1, 1.0, np.nan, 2.0]), 0.5)
    array([0. , 2.6, 2.6, 2.6, 1. , nan, 1.5])
    """
    known = np.isfinite(evidence)
    least, most = np.where(known, [evidence - depth, evidence], [[-np.inf], [np.inf]])
    onward = _spread(least, most)
    return np.where(known, _spread(onward[::-1], most[::-1])[::-1], np.nan)


def _spread(least: FloatArray, most: FloatArray) -> FloatArray:
    """Each value carried to the rows after it as far as `most` of them lets it.

    What a span of rows does to a value that passes is to clip it, so that spans of twice as many
    rows follow from two of them.
    """
    rows = 1
    while rows < len(least):
        carried = np.clip([least[:-rows], most[:-rows]], least[rows:], most[rows:])
        if (carried[0] == least[rows:]).all():
            break
        least, most = np.concatenate([[least[:rows], most[:rows]], carried], axis=1)
        rows *= 2
    return least


def surroundings(evidence: FloatArray, reach: int) -> FloatArray:
    """At each row the highest evidence of the rows no farther than `reach`, at least none.

    Long subsequences are odd as a whole: where in them the event begins and ends they do not know,
    and what looks usual beside it is part of it more often than not.

    >>> surroundings(np.array([0.0, 0.0, 2.0, 1.5, np.nan, -1.0]), 1)
    array([0. , 2. , 2. , 2. , 1.5, 0. ])
    """
    # Spans of twice as many rows follow from two of them.
    highest, rows, wanted = np.pad(np.nan_to_num(evidence, nan=0.0), reach), 1, 2 * reach + 1
    while 2 * rows <= wanted:
        highest = np.maximum(highest[:-rows], highest[rows:])
        rows *= 2
    rest = wanted - rows
    return np.maximum(np.maximum(highest[: len(highest) - rest], highest[rest:]), 0.0)


def by_the_past(
    blocks: Blocks,
    fresh: Blocks,
    subsequences: Sequence[FloatArray],
    config: ScoringConfig,
    calendar: Sequence[FloatArray] = (),
) -> FloatArray:
    """The evidence of rows by those before them.

    `fresh` are blocks less the oddness of the context that they follow: what is odd by them alone
    is no echo, and the rest counts only a little beyond it.
    """
    sharpness = config.sharpness_of_lengths
    forecasts = agreeing(blocks, config)
    gated = [np.fmin(each, forecasts + config.live_gate) for each in subsequences]
    whole = soft_maximum([forecasts, *gated], sharpness)
    new = agreeing(fresh, config)
    said = soft_maximum([new, np.fmin(whole, new + config.echo_gate)], sharpness)
    return _or_calendar(said, calendar)


def agreeing(blocks: Blocks, config: ScoringConfig) -> FloatArray:
    """All blocks, each only as far as shorter ones agree."""
    agreed: list[FloatArray] = []
    for evidence in blocks.values():
        bounded = np.fmin(evidence, agreed[-1] + config.live_gate) if agreed else evidence
        agreed.append(bounded)
    return soft_maximum(agreed, config.sharpness_of_lengths)


def _or_calendar(said: FloatArray, calendar: Sequence[FloatArray]) -> FloatArray:
    """Whatever tells more: subsequences know nothing of the clock, so they do not bound it."""
    return np.asarray(np.fmax.reduce([said, *calendar]))


def mean_between(values: FloatArray, first: Rows, last: Rows) -> FloatArray:
    """Means of the known values from `first` to `last`, the nearest one beyond the ends."""
    known = np.isfinite(values)
    total = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    count = np.concatenate([[0], np.cumsum(known)])
    low, high = (np.clip(each, 0, len(values) - 1) for each in (first, last))
    held = count[high + 1] - count[low]
    mean = (total[high + 1] - total[low]) / np.maximum(held, 1)
    return np.asarray(np.where(held > 0, mean, np.nan))


def combine_with_detector(
    memory: FloatArray, detector: FloatArray, config: ScoringConfig
) -> FloatArray:
    """The soft maximum with what the detector says, in std like a part."""
    sharpness, weight = config.sharpness_of_lengths, config.detector_weight
    loud = (1 - weight) * np.exp(memory / sharpness)
    return np.asarray(sharpness * np.log(loud + weight * np.exp(detector / sharpness)))
