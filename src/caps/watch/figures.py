"""What a watch tells Prometheus of its series and of itself, and whether it is well; by HTTP."""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
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

METRICS, HEALTH = "/metrics", "/-/healthy"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
PATIENCE = 10.0  # seconds for a request
PREFIX = "caps_watch_"
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
        yield _gauge("info", "Version of CAPS.", "version", {self.version: 1})
        about = "Whether the configuration was read when it changed last."
        yield _gauge("config_ok", about, "", {(): self.config_problem is None})
        if watcher is not None:
            yield from self._of_series(watcher)
            yield from self._of_sources(watcher)
            yield from self._of_sinks(watcher)
            yield from self._of_itself(watcher)

    def _of_series(self, watcher: Watcher) -> Iterator[Metric]:
        streams, incidents = dict(watcher.streams), dict(watcher.incidents)
        latest = {name: each for name, each in dict(watcher.latest).items() if name in streams}
        channels = {name: stream.fitted.names for name, stream in streams.items()}
        values = {
            (name, channel): value
            for name, each in latest.items()
            for channel, value in zip(channels[name], each.values, strict=True)
        }
        yield _gauge("value", "Newest value of a channel.", "series channel", values)
        for edge, about in BAND.items():
            values = {
                (name, channel): value
                for name, each in latest.items()
                if each.band is not None
                for channel, value in zip(channels[name], getattr(each.band, edge), strict=True)
            }
            yield _gauge(edge, about, "series channel", values)
        scores = {name: each.score for name, each in latest.items()}
        yield _gauge("score", "Score of the newest row, 0 to 1.", "series", scores)
        thresholds = {name: stream.tracker.threshold for name, stream in streams.items()}
        about = "Score from which on a row is part of an event."
        yield _gauge("threshold", about, "series", thresholds)
        opened = {name: each.current is not None for name, each in incidents.items()}
        yield _gauge("incident_open", "1 while an incident is open.", "series", opened)
        silent = {name: each.silent > 0 for name, each in incidents.items()}
        yield _gauge(
            "silenced_open", "1 while an event is open that is no alarm.", "series", silent
        )
        stopped = {name: name in watcher.absence.stopped for name in streams}
        yield _gauge("no_data", "1 while a series has stopped.", "series", stopped)
        drift = {name: stream.drift.found for name, stream in streams.items()}
        yield _gauge("drift", "1 from when a refit is recommended.", "series", drift)
        times = {name: each.time / SECOND for name, each in latest.items() if each.time}
        yield _gauge("last_row_timestamp_seconds", "Time of the newest row.", "series", times)
        begun = {name: each.number for name, each in incidents.items()}
        yield _counter("incidents", "Incidents begun.", "series", begun)
        silenced = {name: each.silenced for name, each in incidents.items()}
        yield _counter("silenced", "Events by feedback or plan no alarms.", "series", silenced)
        rows = {name: stream.counts.rows for name, stream in streams.items()}
        yield _counter("rows", "Rows taken in.", "series", rows)

    def _of_sources(self, watcher: Watcher) -> Iterator[Metric]:
        up = {each.name: each.failure is None for each in watcher.sources}
        yield _gauge("source_up", "Whether a source can be read.", "source", up)
        now = self.clock()
        lags = {each.name: now - each.upto / SECOND for each in watcher.sources if each.upto}
        yield _gauge("lag_seconds", "Age of the newest time that was read.", "source", lags)
        polls = [each for each in watcher.sources if isinstance(each, Polling)]
        outcomes = {(each.name, "answered"): each.polls for each in polls}
        outcomes |= {(each.name, "failed"): each.failed for each in polls}
        yield _counter("polls", "Requests to a source.", "source outcome", outcomes)

    def _of_sinks(self, watcher: Watcher) -> Iterator[Metric]:
        counts = {
            (sink.name, each): getattr(sink, each)
            for sink in watcher.sinks
            for each in ("delivered", "refused", "dropped")
        }
        yield _counter("alerts", "Alerts by outcome.", "sink outcome", counts)
        failing = {sink.name: sink.failing for sink in watcher.sinks}
        yield _gauge("sink_failing", "1 while alerts do not arrive.", "sink", failing)

    def _of_itself(self, watcher: Watcher) -> Iterator[Metric]:
        streams = list(watcher.streams.values())
        yield _gauge("series", "Series watched.", "", {(): len(streams)})
        yield _counter("busy_seconds", "Processor time on rows.", "", {(): watcher.busy})
        odd = {
            "unknown": watcher.unknown,
            "malformed": sum(source.malformed for source in watcher.sources),
        }
        for why in ("late", "duplicate", "ahead"):
            odd[why] = sum(getattr(stream.counts, why) for stream in streams)
        yield _counter("refused_rows", "Rows not taken in, by reason.", "reason", odd)
        outcomes = {each: self.refits.get(each, 0) for each in ("in force", "waits", "failed")}
        yield _counter("refits", "Models fitted again.", "outcome", outcomes)
        if watcher.state is not None and watcher.saved_at is not None:
            saved = {(): watcher.saved_at}
            yield _gauge("saved_timestamp_seconds", "When the state was saved.", "", saved)

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


Samples = Mapping[Any, Any]  # by the text of a label, or by the texts of several


def _gauge(name: str, about: str, labels: str, samples: Samples) -> Metric:
    return _filled(GaugeMetricFamily(PREFIX + name, about, labels=labels.split()), samples)


def _counter(name: str, about: str, labels: str, samples: Samples) -> Metric:
    return _filled(CounterMetricFamily(PREFIX + name, about, labels=labels.split()), samples)


def _filled(family: Any, samples: Samples) -> Metric:
    for labels, value in samples.items():
        number = float(value)
        if not math.isnan(number):
            family.add_metric((labels,) if isinstance(labels, str) else labels, number)
    metric: Metric = family
    return metric


class Listener:
    """Answers from threads of its own until it is closed."""

    def __init__(self, address: tuple[str, int], figures: Figures) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == METRICS:
                    self.answer(200, TEXT, figures.text())
                elif path == HEALTH:
                    health = figures.health()
                    body = json.dumps(health).encode() + b"\n"
                    self.answer(200 if health["ok"] else 503, "application/json", body)
                else:
                    self.answer(404, TEXT, f"see {METRICS} and {HEALTH}\n".encode())

            def answer(self, code: int, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # whoever asked did not wait
                    self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing: it would be told every few seconds."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            address_family = AF_INET6 if ":" in address[0] else ThreadingHTTPServer.address_family

        try:
            self.server = Server(address, Handler)
        except OSError as error:
            raise InputError(
                f"nothing can listen on {address[0]}:{address[1]} ({error})",
                "give --listen a free port",
            ) from None
        self.port = int(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, name="caps-metrics", daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self.server.shutdown()
        self.server.server_close()
