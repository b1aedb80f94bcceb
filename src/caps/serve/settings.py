"""Where the service keeps its files, whom it answers, and how much it takes on."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caps.errors import InputError

MEGABYTE = 1_000_000
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """Every limit of the service.

    >>> Settings(Path("models"), host="0.0.0.0")
    Traceback (most recent call last):
    ...
    caps.errors.InputError: 0.0.0.0 can be reached from other machines: give a token, or bind to ...
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8100
    token: str | None = None
    pretrained: Path | None = None
    planned: Path | None = None  # file of planned events, read again when it changes
    estimator: Mapping[str, Any] = field(default_factory=dict)  # parameters of every fit
    refit_every: float | None = None  # seconds: an older model whose series is newer is due
    refit_review: bool = False  # a model fitted again waits until somebody puts it in force

    upload_bytes: int = 256 * MEGABYTE  # a million rows of five channels take about 60
    body_bytes: int = 8 * MEGABYTE  # of every other request
    rows: int = 5_000_000
    columns: int = 1_000
    stored: int = 500  # series, and as many models
    versions: int = 4  # of a model that are kept beside the one in force
    spare_bytes: int = 64 * MEGABYTE  # on the disk: with less the service is not ready

    fits: int = 1  # at a time, each on one core
    fit_niceness: int = 10  # a fit steps behind requests that somebody waits for
    waiting_fits: int = 8
    scorers: int = 2
    waiting_scores: int = 1  # more would wait longer than a client should: they get 429
    viewers: int = 2
    large_values: int = 300_000  # rows times channels: views of more take turns among themselves
    waiting_views: int = 32

    waiting_connections: int = 512  # without a request; then the first to have come is let go
    waiting_bodies: int = 64  # on their way in; then the slowest is let go
    head_seconds: float = 10.0  # for the head of a request, before which nobody is known
    body_seconds: float = 60.0  # for all of a request's body
    answer_seconds: float = 30.0
    view_seconds: float = 300.0  # of a stored series, which may have millions of rows
    fit_seconds: float = 3600.0
    grace_seconds: float = 10.0  # for requests and a fit under way when the service stops

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(
                f"a token of {len(self.token)} characters can be guessed",
                f"give one of at least {SHORTEST_TOKEN}",
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise InputError("the token has characters a header cannot hold", "use plain ASCII")
        if self.token is None and not self.local:
            raise InputError(
                f"{self.host} can be reached from other machines",
                "give a token, or bind to 127.0.0.1",
            )
        if self.refit_every is not None and self.refit_every <= 0:
            raise InputError("refits without a pause", "give a time above 0, such as 7d")
        if not 0 <= self.port < 65536:
            raise InputError(f"there is no port {self.port}", "give 1 to 65535, or 0 for any")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
