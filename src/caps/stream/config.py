"""The numbers that decide which rows of a stream are taken in, and when it has drifted."""

from dataclasses import dataclass, field

from caps.configuration import Configuration


@dataclass(frozen=True, slots=True)
class ArrivalConfig(Configuration):
    """Which rows are late, repeated, or too far ahead to be believed."""

    off_grid: float = 0.1  # of a step: more is no polling jitter
    leap: int = 4  # steps ahead: believed only if the next rows say the same
    farthest: int = 10_000  # steps between two rows that confirm each other
    returning: int = 5  # rows in sequence before a jump that show it to have been false
    remembered: int = 512  # positions handed on, to tell a repeated row from a late one


@dataclass(frozen=True, slots=True)
class DriftConfig(Configuration):
    """The bets of the drift watch; see `caps.stream.drift`."""

    limit: int = 10_000  # samples: the mean time to a false recommendation, or longer
    spacing: int = 64  # rows between samples on average: a quarter of a window
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.4)  # of p-values, at either end
    stakes: tuple[float, ...] = (0.25, 0.75)  # of the capital
    doubt: float = 0.01  # that a share is larger than its limit


@dataclass(frozen=True, slots=True)
class StreamConfig(Configuration):
    """Is written into the model: its streams go on as they began.

    >>> StreamConfig.from_dict(StreamConfig(ArrivalConfig(leap=8)).to_dict()).arrivals.leap
    8
    """

    arrivals: ArrivalConfig = field(default_factory=ArrivalConfig)
    drift: DriftConfig = field(default_factory=DriftConfig)
