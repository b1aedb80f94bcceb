"""The numbers that decide how events are cut, explained and named."""

from dataclasses import dataclass

from caps.configuration import Configuration


@dataclass(frozen=True, slots=True)
class EventConfig(Configuration):
    """Is written into the model beside the rules: the same scores give the same events again.

    The rules say what counts as one event, and an alarm budget is calibrated for them; these
    numbers change no score and no count of alarms.
    """

    # Explanation.
    one_sided: float = 0.25  # of the mean size: a smaller mean deviation has no direction
    far: float = 1.5  # times the mean distance: less is not anomalous
    most_channels: int = 3  # shown of an event

    # A level that stays after an event: it counts as normal from then on, and that is said.
    staying_rows: int = 64  # of an event, at least: what is short goes back, or is another
    staying_beside: int = 512  # rows on either side that tell the level, at most
    staying_size: float = 2.0  # std of either side, at least

    # Kinds. The router wants the support, and an event is wider than what happened. Rows that
    # deviate by these shares of the largest deviation stand in for it: on 381 simulated events
    # found 16 rows too wide, 47 % of kinds were right by the event's rows, 66 % by the mean over
    # these shares.
    support_shares: tuple[float, ...] = (0.15, 0.3, 0.5)
    support_closing: int = 7  # rows: a deviation that crosses zero does not end the support
    # Of the router on unseen simulated events: kinds known less well are not shown.
    least_kind_accuracy: float = 0.75
    # Association from which on a kind is named: of simulated events with rows not quite right, 78
    # to 81 % of the kinds named are true, and half to two thirds of the events get one.
    certain: float = 0.7


@dataclass(frozen=True, slots=True)
class LikenessConfig(Configuration):
    """When an event is like one that was judged before."""

    # A subsequence may be so many times as far from one of the example as recurrences in training
    # are from each other at most, or this share of what the event did to that one: a recurrence is
    # rarely of the very same size.
    far: float = 1.5
    share: float = 0.3
    odd: float = 2.0  # times as far from training as one that is like it: clearly odd
    most: float = 0.95  # quantile that stands for the most: the highest are anomalies as a rule
    sample: int = 512  # subsequences of training that tell what is usual
    varied: float = 0.5  # std of training: what varies less is not compared by its shape
    hops: int = 4  # subsequences compared are this part of their length apart
    lasting: float = 1.5  # times as long as the example, at most
    shortest: float = 0.33  # of its length, at least, once it has ended
    beside: int = 64  # rows of surroundings kept of it, at the least: they tell what was expected
    rows: int = 2048  # of an event that can be judged: what lasts longer is a new normal
