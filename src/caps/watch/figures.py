"""What a watch tells Prometheus of its series and of itself, and whether it is well."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from caps.errors import InputError
from caps.watch.sources import Polling
from caps.watch.watcher import Watcher

try:
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError:
    raise InputError(
        "prometheus-client is not installed",
        "pip install 'caps-tsad[serve]', or leave out --listen",
    ) from None

SECOND = 1e9  # nanoseconds
LATE = 3.0  # steps behind, and a minute, from which on a watch does not keep up
MINUTE = 60.0
BAND = {
    "expected": "What was expected of a channel in the newest row.",
    "lower": "Lower edge of what counts as normal of it.",
    "upper": "Upper edge of what counts as normal of it.",
}


class Figures(Collector):
    """Everything that is served for scraping, of the watcher that runs now."""

    def __init__(self, version: str, clock: Callable[[], float] = time.time) -> None:
        self.version, self.clock = version, clock
        self.watcher: Watcher | None = None
        self.config_problem: str | None = None  # of a reload that failed
        self.refits: Mapping[str, int] = {}  # by outcome
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return bytes(generate_latest(self.registry))

    def collect(self) -> Iterator[Metric]:
        """The metrics, looked up when they are asked for."""
        watcher = self.watcher
        yield _gauge("caps_watch_info", "Version of CAPS.", ["version"], [((self.version,), 1)])
        yield _gauge(
            "caps_watch_config_ok", "Whether the configuration was read when it changed last.",
            [], [((), self.config_problem is None)],
        )  # fmt: skip
        if watcher is not None:
            yield from self._of_series(watcher)
            yield from self._of_sources(watcher)
            yield from self._of_sinks(watcher)
            yield from self._of_itself(watcher)

    def _of_series(self, watcher: Watcher) -> Iterator[Metric]:
        series, latest = ["series"], dict(watcher.latest)
        streams, incidents = dict(watcher.streams), dict(watcher.incidents)
        yield _gauge(
            "caps_watch_value", "Newest value of a channel.", ["series", "channel"],
            [((name, channel), value)
             for name, each in latest.items() if name in streams
             for channel, value in zip(streams[name].fitted.names, each.values, strict=True)],
        )  # fmt: skip
        for edge, about in BAND.items():
            yield _gauge(
                f"caps_watch_{edge}", about, ["series", "channel"],
                [((name, channel), value)
                 for name, each in latest.items() if name in streams and each.band is not None
                 for channel, value in zip(
                     streams[name].fitted.names, getattr(each.band, edge).tolist(), strict=True)],
            )  # fmt: skip
        yield _gauge(
            "caps_watch_score", "Score of the newest row, 0 to 1.", series,
            [((name,), each.score) for name, each in latest.items()],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_threshold", "Score from which on a row is part of an event.", series,
            [((name,), stream.tracker.threshold) for name, stream in streams.items()],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_incident_open", "1 while an incident is open.", series,
            [((name,), each.current is not None) for name, each in incidents.items()],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_silenced_open", "1 while an event is open that is no alarm.", series,
            [((name,), each.silent > 0) for name, each in incidents.items()],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_no_data", "1 while a series has stopped.", series,
            [((name,), name in watcher.absence.stopped) for name in streams],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_drift", "1 from when a refit is recommended.", series,
            [((name,), stream.drift.found) for name, stream in streams.items()],
        )  # fmt: skip
        yield _gauge(
            "caps_watch_last_row_timestamp_seconds", "Time of the newest row.", series,
            [((name,), each.time / SECOND) for name, each in latest.items() if each.time],
        )  # fmt: skip
        yield _counter(
            "caps_watch_incidents", "Incidents begun.", series,
            [((name,), each.number) for name, each in incidents.items()],
        )  # fmt: skip
        yield _counter(
            "caps_watch_silenced", "Events by feedback or plan no alarms.", series,
            [((name,), each.silenced) for name, each in incidents.items()],
        )  # fmt: skip
        yield _counter(
            "caps_watch_rows", "Rows taken in.", series,
            [((name,), stream.counts.rows) for name, stream in streams.items()],
        )  # fmt: skip

    def _of_sources(self, watcher: Watcher) -> Iterator[Metric]:
        up = [((each.name,), each.failure is None) for each in watcher.sources]
        yield _gauge("caps_watch_source_up", "Whether a source can be read.", ["source"], up)
        now = self.clock()
        lags = [((each.name,), now - each.upto / SECOND) for each in watcher.sources if each.upto]
        about = "Age of the newest time that was read."
        yield _gauge("caps_watch_lag_seconds", about, ["source"], lags)
        polls = [each for each in watcher.sources if isinstance(each, Polling)]
        outcomes = [((each.name, "answered"), each.polls) for each in polls]
        outcomes += [((each.name, "failed"), each.failed) for each in polls]
        yield _counter("caps_watch_polls", "Requests to a source.", ["source", "outcome"], outcomes)

    def _of_sinks(self, watcher: Watcher) -> Iterator[Metric]:
        counts = [
            ((sink.name, each), getattr(sink, each))
            for sink in watcher.sinks
            for each in ("delivered", "refused", "dropped")
        ]
        yield _counter("caps_watch_alerts", "Alerts by outcome.", ["sink", "outcome"], counts)
        failing = [((sink.name,), sink.failing) for sink in watcher.sinks]
        about = "1 while alerts do not arrive."
        yield _gauge("caps_watch_sink_failing", about, ["sink"], failing)

    def _of_itself(self, watcher: Watcher) -> Iterator[Metric]:
        streams = list(watcher.streams.values())
        yield _gauge("caps_watch_series", "Series watched.", [], [((), len(streams))])
        yield _counter(
            "caps_watch_busy_seconds", "Processor time on rows.", [], [((), watcher.busy)]
        )
        odd = {
            "unknown": watcher.unknown,
            "malformed": sum(source.malformed for source in watcher.sources),
        }
        for why in ("late", "duplicate", "ahead"):
            odd[why] = sum(getattr(stream.counts, why) for stream in streams)
        yield _counter(
            "caps_watch_refused_rows", "Rows not taken in, by reason.", ["reason"],
            [((why,), count) for why, count in odd.items()],
        )  # fmt: skip
        outcomes = [((each,), self.refits.get(each, 0)) for each in ("in force", "waits", "failed")]
        yield _counter("caps_watch_refits", "Models fitted again.", ["outcome"], outcomes)
        if watcher.state is not None and watcher.saved_at is not None:
            about = "When the state was saved."
            yield _gauge("caps_watch_saved_timestamp_seconds", about, [], [((), watcher.saved_at)])

    def health(self) -> dict[str, Any]:
        """Whether the watch does its work, and what keeps it from it."""
        watcher, problems = self.watcher, []
        if self.config_problem is not None:
            problems.append(f"the configuration is not in force: {self.config_problem}")
        if watcher is None:
            return {"ok": False, "problems": [*problems, "it has not begun yet"]}
        for source in watcher.sources:
            if source.failure is not None:
                problems.append(f"{source.name} cannot be read: {source.failure.why}")
            elif source.step is not None and source.upto:
                behind = self.clock() - source.upto / SECOND
                step = float(source.step.astype("int64")) / SECOND
                if behind > max(LATE * step, MINUTE):
                    problems.append(f"{source.name} is {behind:.0f} s behind")
        problems += [f"{each.name}: alerts do not arrive" for each in watcher.sinks if each.failing]
        return {"ok": not problems, "series": len(watcher.streams), "problems": problems}


Samples = Sequence[tuple[tuple[str, ...], Any]]


def _gauge(name: str, text: str, labels: list[str], samples: Samples) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), samples)


def _counter(name: str, text: str, labels: list[str], samples: Samples) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=labels), samples)


def _filled(family: Any, samples: Samples) -> Metric:
    for labels, value in samples:
        number = float(value)
        if not math.isnan(number):
            family.add_metric(labels, number)
    metric: Metric = family
    return metric
