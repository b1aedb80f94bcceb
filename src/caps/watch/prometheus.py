"""Prometheus in: what a PromQL query gives between two moments, read in bounded pieces.

Times here are whole milliseconds since 1970, as Prometheus has them, on the grid of the step.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import numpy as np

from caps.arrays import FloatArray
from caps.errors import CapsError, InputError
from caps.series import Series
from caps.watch.web import Refused, Unanswered, check_address, post, shown_address

MOST_POINTS = 10_000  # of a series in one answer: the server's limit is 11,000
MOST_VALUES = 500_000  # of all series in one answer: some 15 MB
FEWEST_POINTS = 10
TIMEOUT = 60.0  # seconds for an answer
NAME = "__name__"
TOO_MUCH = ("maximum resolution", "too many samples", "maximum number of samples")

Labels = Mapping[str, str]


class QueryError(InputError):
    """The server does not understand the query."""


class _TooMuch(Exception):
    """The server wants to be asked for less at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one series: times in milliseconds and a value for each channel."""

    labels: Labels
    times: np.ndarray  # (row,) int64
    values: FloatArray  # (row, channel), not-a-number where a channel has none


@dataclass(eq=False)
class Prometheus:
    """Asks one server for one query a channel; the results with equal labels are one series."""

    url: str
    queries: Mapping[str, str]  # PromQL by channel
    step: int  # milliseconds
    lookback: int | None = None  # milliseconds that a value lasts; two steps if left out
    timeout: float = TIMEOUT
    points: int = field(default=1000, init=False)  # of a series to ask for at once

    def __post_init__(self) -> None:
        check_address(self.url, "the Prometheus server")
        if not self.queries:
            raise InputError("there is no query", "give --query PROMQL")
        if self.step < 1:
            raise InputError("the step is below a millisecond", "give a step such as 1m")

    @property
    def channels(self) -> tuple[str, ...]:
        """In the order given."""
        return tuple(self.queries)

    def floor(self, moment: float) -> int:
        """The last time of the grid until a moment in seconds."""
        return int(moment * 1000) // self.step * self.step

    def piece(self, first: int, last: int) -> tuple[dict[str, Rows], int]:
        """Rows from `first` on, as many as can be asked for at once, and the time of the last."""
        while True:
            end = min(last, first + (self.points - 1) * self.step)
            try:
                found = self._rows(first, end)
            except _TooMuch as error:
                if self.points == FEWEST_POINTS:
                    raise Unanswered(f"even {FEWEST_POINTS} points are too many: {error}") from None
                self.points = max(FEWEST_POINTS, self.points // 4)
                continue
            if found:
                most = MOST_VALUES // (len(found) * len(self.queries))
                self.points = max(FEWEST_POINTS, min(MOST_POINTS, most, 2 * self.points))
            return found, end

    def history(self, first: int, last: int) -> dict[str, Series]:
        """Every series from `first` to `last`, both inclusive."""
        parts: dict[str, list[Rows]] = {}
        for found in self._pieces(first, last):
            for name, rows in found.items():
                parts.setdefault(name, []).append(rows)
        return {name: self._series(rows) for name, rows in sorted(parts.items())}

    def _pieces(self, first: int, last: int) -> Iterator[dict[str, Rows]]:
        while first <= last:
            try:
                found, end = self.piece(first, last)
            except Unanswered as error:
                raise CapsError(
                    f"Prometheus at {shown_address(self.url)}: {error}",
                    "see that it runs and that the address is right",
                ) from None
            yield found
            first = end + self.step

    def _series(self, parts: list[Rows]) -> Series:
        times = np.concatenate([part.times for part in parts]).astype("datetime64[ms]")
        values = np.concatenate([part.values for part in parts])
        return Series(
            values, np.isfinite(values), self.channels, times.astype("datetime64[ns]"), "UTC"
        )

    def _rows(self, first: int, last: int) -> dict[str, Rows]:
        answers = [self._answer(query, first, last) for query in self.queries.values()]
        grid = (last - first) // self.step + 1
        filled: dict[str, tuple[Labels, FloatArray]] = {}
        for column, answer in enumerate(answers):
            for each in answer:
                name = series_id(each["metric"], named=len(answers) == 1)
                if name not in filled:
                    empty = np.full((grid, len(answers)), np.nan)
                    filled[name] = _labels(each["metric"]), empty
                times, values = np.array(each["values"], dtype=np.float64).T
                index = np.rint((times * 1000 - first) / self.step).astype(np.intp)
                filled[name][1][index, column] = np.where(np.isfinite(values), values, np.nan)
        times = first + self.step * np.arange(grid, dtype=np.int64)
        found = {}
        for name, (labels, rows) in filled.items():
            some = np.isfinite(rows).any(axis=1)
            found[name] = Rows(labels, times[some], rows[some])
        return found

    def _answer(self, query: str, first: int, last: int) -> list[dict[str, Any]]:
        asked = {
            "query": query,
            "start": f"{first / 1000:.3f}",
            "end": f"{last / 1000:.3f}",
            "step": f"{self.step / 1000:.3f}",
            # Servers that do not know it look back by their own setting.
            "lookback_delta": f"{(self.lookback or 2 * self.step) / 1000:.3f}",
        }
        body = urlencode(asked).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url = f"{self.url.rstrip('/')}/api/v1/query_range"
        try:
            content = post(url, body, headers, self.timeout)
        except Refused as refusal:
            raise self._problem(refusal, query) from None
        try:
            answer = json.loads(content)
            result = answer["data"]["result"]
            if answer["status"] != "success" or not all(each["values"] for each in result):
                raise ValueError(answer.get("status"))
            return list(result)
        except (KeyError, TypeError, ValueError) as error:
            raise Unanswered(f"its answer is not one of Prometheus ({error})") from None

    def _problem(self, refusal: Refused, query: str) -> Exception:
        try:
            said = json.loads(refusal.body)
            kind, text = str(said["errorType"]), str(said["error"])
        except (KeyError, TypeError, ValueError):
            return Unanswered(f"it answers {refusal.code}")
        if any(each in text for each in TOO_MUCH):
            return _TooMuch(text)
        if kind == "bad_data":
            return QueryError(f"Prometheus refuses the query {query!r} ({text})", "correct it")
        return Unanswered(f"it answers {refusal.code}: {text[:200]}")


def series_id(labels: Labels, *, named: bool = True) -> str:
    """Labels as PromQL writes them; without the name where several queries make one series.

    >>> series_id({"__name__": "load", "job": "node", "host": "db-1"})
    'load{host="db-1",job="node"}'
    """
    shown = ",".join(
        f"{name}={json.dumps(text, ensure_ascii=False)}"
        for name, text in sorted(labels.items())
        if name != NAME
    )
    name = labels.get(NAME, "") if named else ""
    return name + (f"{{{shown}}}" if shown or not name else "")


def _labels(labels: Labels) -> Labels:
    return {name: str(text) for name, text in labels.items() if name != NAME}
