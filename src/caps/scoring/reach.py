"""Where comparing stops: the longest context that a model sees, in the units of its user."""

from collections.abc import Sequence

import numpy as np

from caps.neighbours import NeighbourConfig
from caps.scoring.channels import Channel, ConstantChannel, LearnedChannel
from caps.series import lasting


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
