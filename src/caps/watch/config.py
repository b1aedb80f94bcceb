"""What a watch is told: sources, series, budgets, rules, sinks, refits and planned events."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np

from caps.errors import InputError
from caps.planned import Planned
from caps.scoring import EventRules, FitOptions
from caps.series import ReadOptions
from caps.watch.alerts import Severity

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
HISTORY = 7 * UNITS["d"]  # to learn from, where nothing else is said
STEPS = 5  # of a Prometheus source without a row: no data, unless it is said otherwise
NANOSECONDS = 1e9
FEWEST_VERSIONS = 2  # the one in force, and one to go back to

SinkKind = Literal["alertmanager", "webhook", "slack"]


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A Prometheus server and its queries, or a file."""

    name: str = ""
    prometheus: str | None = None
    queries: Mapping[str, str] = field(default_factory=dict)  # PromQL by channel
    step: float = 60.0  # seconds, like all times here
    since: float | None = None
    delay: float = 5.0
    lookback: float | None = None
    file: str | None = None  # - is standard input
    follow: bool = False
    id: str | None = None
    time: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """Who gets alerts, and which."""

    kind: SinkKind
    url: str
    name: str
    secret: str | None = None
    least_severity: Severity = "low"
    match: str = "*"
    labels: Mapping[str, str] = field(default_factory=dict)
    resend: float | None = None
    settle: float | None = None


@dataclass(frozen=True, slots=True)
class SeriesConfig:
    """What holds for the series whose ids match; the first match counts."""

    match: str
    alarms: str | None = None
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class Refits:
    """When models are fitted again, and whether a person decides that a version takes over."""

    every: float | None = None  # seconds
    on_drift: bool = False
    keep: int = 3  # versions
    review: bool = False  # a new version waits until somebody puts it in force

    def __bool__(self) -> bool:
        return self.every is not None or self.on_drift


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """All that a watch, and the fit of its models, is told."""

    path: Path | None = None
    models: Path | None = None
    state: Path | None = None
    listen: tuple[str, int] | None = None
    save_every: float = 60.0
    lateness: int = 0
    recovery: int | np.timedelta64 | None = None
    no_data: int | float | None = None  # rows, or seconds
    forget: float | None = UNITS["d"]
    updates: bool = False
    alarms: str | None = None
    sources: tuple[SourceConfig, ...] = ()
    sinks: tuple[SinkConfig, ...] = ()
    series: tuple[SeriesConfig, ...] = ()
    rules: EventRules | None = None
    fit: Mapping[str, Any] = field(default_factory=dict)  # by the names of `FitOptions`
    fit_out: Path | None = None
    refits: Refits = field(default_factory=Refits)
    planned: Planned = field(default_factory=Planned)
    planned_file: Path | None = None  # where they were read, and are again when it changes

    def rule_of(self, name: str) -> SeriesConfig:
        """What holds for a series: the first rule that matches its id."""
        matching = (each for each in self.series if fnmatchcase(name, each.match))
        return next(matching, SeriesConfig("*"))

    def budget_of(self, name: str) -> str | None:
        """The alarm budget of a series; None for that of its model."""
        return self.rule_of(name).alarms or self.alarms

    def patience(self, steps: Sequence[np.timedelta64]) -> tuple[int | None, int | None]:
        """Nanoseconds without a row after which a series has stopped, and is forgotten.

        None where nobody minds. `steps` are those of sources that are asked for rows.
        """
        limit = STEPS if self.no_data is None and steps else self.no_data
        if isinstance(limit, int):
            if not steps:
                raise InputError("no data in rows, of a file", "give a time such as 10m")
            limit *= float(max(steps) / np.timedelta64(1, "s"))
        stopped, forgotten = (
            None if seconds is None else round(seconds * NANOSECONDS)
            for seconds in (limit, self.forget)
        )
        return stopped, forgotten

    def fit_options(self) -> FitOptions:
        """How models are fitted: for a watch, hence by the past alone."""
        chosen: dict[str, Any] = {"causal": True, **self.fit}
        if self.alarms is not None:
            chosen["alarms"] = self.alarms
        if self.rules is not None:
            chosen["rules"] = self.rules
        return FitOptions(**chosen)


def seconds_in(text: str) -> float:
    """The length of a time such as 90s, 1m30s or 7d, in seconds.

    >>> seconds_in("1h30m"), seconds_in("500ms")
    (5400.0, 0.5)
    """
    parts = PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise InputError(f"{text!r} is no length of time", "give one such as 30s, 5m, 6h or 7d")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def rows_or_seconds(text: str) -> int | float:
    """A number of rows, or a length of time in seconds."""
    return int(text) if text.isdecimal() else seconds_in(text)


def read_secret(path: Path) -> str:
    """The first line of a file, which signs webhooks."""
    try:
        secret = path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})", "name a text file") from None
    if not secret:
        raise InputError(f"{path} holds no secret", "write one into its first line")
    return secret


def listen_address(value: str) -> tuple[str, int]:
    """Host and port of 127.0.0.1:9410, [::1]:9410 or :9410."""
    host, _, port = value.rpartition(":")
    if not port.isdecimal() or not int(port) < 65536:
        raise InputError(f"{value!r} is no address to listen on", "give one such as 127.0.0.1:9410")
    return host.strip("[]"), int(port)
