"""What the service tells Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}


class Monitor:
    """Counters of one service; a registry of its own, so that two can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "caps_requests", "Requests answered.", ("method", "route", "status"),
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "caps_request_seconds", "Time until a request was answered.", ("route",),
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.rows = Counter("caps_scored_rows", "Rows scored.", registry=self.registry)
        self.fits = Counter("caps_fits", "Fits by outcome.", ("outcome",), registry=self.registry)

    def watch(self, name: str, text: str, count: Callable[[], float]) -> None:
        """Tell a number that is looked up when it is asked for."""
        Gauge(name, text, registry=self.registry).set_function(count)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; status 0 means that the client went away."""
        known = method if method in METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return bytes(generate_latest(self.registry))
