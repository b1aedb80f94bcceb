"""The numbers of the search that change what is found, each with its reason."""

from dataclasses import dataclass, field

from caps.configuration import Configuration


@dataclass(frozen=True, slots=True)
class CounterpartConfig(Configuration):
    """How the normal counterpart of an event is recalled from training."""

    margin: int = 64  # rows of surroundings on either side; with 160 fewer subsequences are alike
    guard: int = 4  # rows next to an event that may still belong to it
    neighbours: int = 7  # averaged: one alone brings its own noise along (error 0.39, seven: 0.31)
    level_weight: float = 0.1  # of a squared difference in level beside one in shape
    fewest_rows: int = 8  # of surroundings, below which nothing can be matched
    telling_rows: int = 32  # of surroundings, from which on they tell how well
    most_unseen: float = 0.1  # of a subsequence of training
    edge: int = 16  # rows at either end that tie the counterpart to its surroundings
    least_std: float = 0.1  # of the whole series, whose std is 1: flat surroundings have a scale


@dataclass(frozen=True, slots=True)
class OverlapConfig(Configuration):
    """When scored rows are taken for rows of training."""

    equal: float = 2e-3  # of the std of training: files round their numbers
    run: int = 16  # rows that are found together by their values
    fewest_runs: int = 48  # in a row: fewer may be chance where values are coarse
    longest_break: int = 256  # rows that do not agree end a span
    agreeing: float = 0.5  # of rows at the same times: the others were corrected since


@dataclass(frozen=True, slots=True)
class NeighbourConfig(Configuration):
    """Which subsequences are compared with those of training, and how finely.

    >>> NeighbourConfig.from_dict(NeighbourConfig(lengths=(16, 64)).to_dict()).lengths
    (16, 64)
    """

    lengths: tuple[int, ...] = (4, 16, 64, 256, 1024)  # a ladder of scales needs no period
    long_length: int = 256  # from here on, where in a subsequence a row lies counts
    novel_length: int = 16  # the shortest that is new by itself, in hindsight
    # The longest context whose continuation is compared. In hindsight, what surrounds a row tells
    # the rest; by the past alone, longer ones have to.
    context_length: int = 64
    live_context_length: int = 256
    horizons: tuple[int, ...] = (1, 4, 16)  # rows that are held to what followed
    divisions: int = 4  # of training, the nearest of each counts: one odd span is outvoted
    training_lengths: int = 3  # a subsequence takes up at most a third of the training part
    rows: int = 65_536  # training rows remembered: the last ones
    index_size: int = 4096  # subsequences of each length, evenly over the training part
    index_share: float = 0.25  # of its rows, where that is less
    least_index: int = 2048  # but so many at least
    size_per_row: int = 128  # at most, for each row of their length: short ones are soon all alike
    segments: int = 64  # means that stand for a longer subsequence
    least_std: float = 0.1  # of training: what varies less is not blown up to unit size
    least_observed: float = 0.5  # of a subsequence, to be compared
    hops: int = 256  # subsequences are looked up at every 256th of their length
    hops_when_many: int = 16  # of a series so long that the time counts more
    many_rows: int = 131_072  # of such a series
    counterpart: CounterpartConfig = field(default_factory=CounterpartConfig)
    overlap: OverlapConfig = field(default_factory=OverlapConfig)

    def longest_context(self, *, causal: bool) -> int:
        """Of the contexts whose continuation is compared."""
        return self.live_context_length if causal else self.context_length
