"""A `caps serve` of its own for a check: start it, ask it, fit a model on it."""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tools.machine import free_port

Answers = list[tuple[int, float]]  # status and seconds of each; status 0 for none


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A service with a folder of its own: its address and its process."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "caps.cli.main", "serve", folder, "--port", str(port)]
        service = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            for _ in range(600):
                try:
                    ask(address, "GET", "/ready")
                    break
                except OSError:
                    time.sleep(0.5)
            yield address, service.pid
        finally:
            service.terminate()
            service.wait(30)


def ask(address: str, method: str, path: str, body: bytes | None = None) -> Any:
    """The JSON answer to a request."""
    request = urllib.request.Request(address + path, body, method=method)
    request.add_header("Content-Type", "application/json" if method == "PUT" else "text/csv")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def upload(address: str, name: str, csv: str) -> None:
    """Store a series."""
    ask(address, "POST", f"/v1/series?name={name}", csv.encode())


def begin_fit(address: str, model: str, **options: Any) -> None:
    """Ask for a fit; it goes on by itself."""
    ask(address, "PUT", f"/v1/models/{model}", json.dumps(options).encode())


def fit(address: str, model: str, **options: Any) -> None:
    """Ask for a fit and wait for it."""
    begin_fit(address, model, **options)
    while (state := ask(address, "GET", f"/v1/models/{model}")["fit"]) is not None:
        if state["state"] == "failed":
            raise SystemExit(f"the fit failed: {state['problem']}")
        time.sleep(0.5)


def wave(rows: int) -> np.ndarray:
    """A wave with noise."""
    rng = np.random.default_rng(0)
    return 5 + 2 * np.sin(np.arange(rows) / 8) + 0.15 * rng.standard_normal(rows)


def milliseconds(seconds: "list[float] | np.ndarray") -> list[str]:
    """Median, 99th percentile and longest."""
    return [f"{1000 * value:.0f} ms" for value in np.quantile(seconds, [0.5, 0.99, 1])]
