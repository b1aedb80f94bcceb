"""What is worth saying of channels that are no plain measurements, and of the longest context."""

from collections.abc import Sequence

import numpy as np

from caps.arrays import FloatArray
from caps.neighbours import NeighbourConfig
from caps.scoring.channels import Channel, ConstantChannel, LearnedChannel
from caps.series import lasting

MOSTLY_ZERO = 0.5  # of the rows: the rest are events
AT_BOUND = 0.05  # of the rows: fewer may be chance
FEWEST_VALUES = 10  # of a measurement that has a bound
BOUNDS = (0.0, 1.0, 100.0)  # of shares and percentages
FEWEST_ROWS = 32


def remark_on(values: FloatArray) -> str | None:
    """A remark on training rows of a channel, to follow its name; None if there is none.

    >>> remark_on(np.where(np.arange(100) % 20, 0.0, np.arange(100) % 3))
    'counts events: 0 in 97 % of the training rows, 3 bursts to learn from'
    >>> remark_on(np.minimum(100.0, 60.0 + np.arange(60)))
    'stands at 100 in 33 % of the training rows, as at a bound: it cannot show what lies beyond'
    """
    known = values[np.isfinite(values)]
    if len(known) < FEWEST_ROWS:
        return None
    zero = float(np.mean(known == 0))
    whole = bool(np.all(known == np.floor(known))) and known.min() >= 0
    if whole and MOSTLY_ZERO <= zero < 1 and len(np.unique(known)) > 2:
        bursts = int(np.count_nonzero(np.diff(known != 0, prepend=False) & (known != 0)))
        return (
            f"counts events: 0 in {_percent(zero)} of the training rows, {bursts} bursts to learn "
            "from"
        )
    return _bound_remark(known)


def _bound_remark(known: FloatArray) -> str | None:
    low, high = float(known.min()), float(known.max())
    if low < 0 or high > BOUNDS[-1] or len(np.unique(known)) < FEWEST_VALUES:
        return None
    for bound in (high, low):
        share = float(np.mean(known == bound))
        if bound in BOUNDS and share >= AT_BOUND:
            return (
                f"stands at {bound:g} in {_percent(share)} of the training rows, as at a bound: it "
                "cannot show what lies beyond"
            )
    return None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def reach_remark(
    channels: Sequence[Channel],
    step: np.timedelta64 | None,
    config: NeighbourConfig,
    *,
    causal: bool,
) -> str | None:
    """How long the longest patterns are that are compared; None where none are.

    `step` is that of rows with regular times.
    """
    longest, cycles = 0, 0
    for channel in channels:
        if not isinstance(channel, LearnedChannel | ConstantChannel):
            continue
        if channel.memory is not None:
            lengths = channel.memory.bank.indices
            most = config.live_context_length if causal else max(lengths)
            longest = max(longest, *(each for each in lengths if each <= most))
            cycles = max(cycles, len(channel.memory.cycles))
        if isinstance(channel, LearnedChannel) and channel.detector is not None:
            longest = max(longest, channel.detector.config.window)
    return sentence(longest, step, cycles) if longest else None


def sentence(rows: int, step: np.timedelta64 | None, cycles: int = 0) -> str:
    """The one sentence that says it.

    >>> sentence(1024, np.timedelta64(5, "m"), cycles=1)
    'compares up to 3 days 13 h at this step, and rows at the same time of the last days; \
longer patterns are not seen'
    >>> sentence(256, None)
    'compares up to 256 rows; longer patterns are not seen'
    """
    span = f"{rows:,} rows" if step is None else f"{lasting(rows * step)} at this step"
    clock = (
        "",
        ", and rows at the same time of the last days",
        ", and rows at the same time of the last days and of the same weekdays",
    )[cycles]
    return f"compares up to {span}{clock}; longer patterns are not seen"
