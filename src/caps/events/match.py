"""The subsequence of the training part that comes nearest to an event."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, Singles
from caps.events.events import Event
from caps.neighbours import FORMS, Form, SubsequenceIndex, TrainingOverlap, Zone, paa_of_windows
from caps.scoring import NEW, Memory, Part
from caps.series import write_moment


class Match(NamedTuple):
    """A subsequence around the peak of an event, and its nearest neighbour in training; scaled."""

    start: int  # row of the training part where the neighbour begins
    row: int  # of the series, where the subsequence that it is compared with begins
    distance: float  # root mean square, in std of training
    times: float  # the distance over its median in training
    loudness: float  # in std of what the memory says of normal rows
    values: FloatArray  # (length,) of training as they would lie here


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The subsequence of training most like the one around the peak of an event.

    `values` are in the units of the data and beside `rows` of the input; their level is moved and
    their size changed as far as the comparison left them out.
    """

    channel: str
    start: int  # row of the training part
    end: int  # exclusive
    start_time: np.datetime64 | None  # where training has regular times
    end_time: np.datetime64 | None  # of the last row
    distance: float  # root mean square, in std of training
    times: float  # the distance over its median in training
    rows: NDArray[np.intp]
    values: FloatArray  # not-a-number where training was not observed

    def sentence(self, far: float, timezone: str | None = None) -> str:
        """How like the past this is, and where the nearest of it is.

        From `far` times the mean distance on, it is like none of it.
        """
        where = f"row {self.start:,} of training"
        if self.start_time is not None:
            where = clock(self.start_time, timezone)
        which = f"of {self.end - self.start:,} rows, from {where} on,"
        if self.times < far:
            known = "Training knows the like: the nearest subsequence"
            return f"{known} {which} is about as far as usual."
        return (
            f"No subsequence of training looks like this: the nearest one {which} is "
            f"{self.times:.1f} times as far from it as usual."
        )


def nearest_match(
    memory: Memory, values: FloatArray, event: Event, overlap: TrainingOverlap = NEW
) -> Match | None:
    """What the loudest part of the memory compares the scaled values around the peak with.

    An event that lies in the training part is no match of its own, nor are the rows around it. None
    where nothing around the peak can be compared.
    """
    matches = _matches(memory, values, event, overlap)
    return max(matches, key=lambda match: match.loudness, default=None)


def _matches(
    memory: Memory, values: FloatArray, event: Event, overlap: TrainingOverlap
) -> Iterator[Match]:
    """The nearest of every length and form to the subsequence with the peak in its middle."""
    config, floor = memory.config.neighbours, memory.config.scoring.floor
    for length, index in memory.bank.indices.items():
        row = min(max(0, event.peak - length // 2), len(values) - length)
        window = values[max(0, row) : row + length]
        too_long = row < 0 or Part("new", length, "raw") not in memory.standardisers
        if too_long or np.isfinite(window).mean() < config.least_observed:
            continue
        here = paa_of_windows(window[None], config.segments)
        zone = _exclusion_zone(memory, index, row, event, overlap)
        found = index.query(here, zone)
        for form, distance, which in zip(
            FORMS, found.distance[:, 0].tolist(), found.index[:, 0].tolist(), strict=True
        ):
            if np.isnan(distance):
                continue
            start, measured = int(index.starts[which]), np.log(distance + floor)
            usual = memory.standardisers[Part("new", length, form)]
            times, loudness = float(np.exp(measured - usual.mean)), usual.standardise(measured)
            past = memory.rows[start : start + length].astype(np.float64)
            laid = _laid_over(past, here[0], form, memory)
            yield Match(memory.first + start, row, distance, times, float(loudness), laid)


def _exclusion_zone(
    memory: Memory, index: SubsequenceIndex, row: int, event: Event, overlap: TrainingOverlap
) -> Zone | None:
    """The subsequences of training that overlap the one at `row` or the event, if in training."""
    first = min(row, event.start)
    last = max(row, event.end - index.length)
    ends = memory.bank.exclusion_zone(index, np.array([first, row, last]), overlap)
    if ends is None:
        return None
    some = ends[1] > ends[0]
    if not some.any():
        return None
    return ends[0][some].min(keepdims=True), ends[1][some].max(keepdims=True)


def _laid_over(past: FloatArray, here: Singles, form: Form, memory: Memory) -> FloatArray:
    """A subsequence of training with the level and size it would have here."""
    if form == "raw":
        return past
    config = memory.config.neighbours
    there = paa_of_windows(past[None], config.segments)[0]
    moved = past - float(there.mean())
    if form == "znormalised":
        least = config.least_std
        moved *= max(float(here.std()), least) / max(float(there.std()), least)
    return np.asarray(moved + float(here.mean()))


def clock(moment: np.datetime64, timezone: str | None) -> str:
    """A moment as a person writes it, in the zone of the data."""
    text = write_moment(moment, "m", timezone=timezone)
    return " ".join(filter(None, [text, timezone]))
