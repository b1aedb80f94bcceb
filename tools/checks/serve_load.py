"""Many clients ask a service for scores while a fit runs: errors, latencies, requests refused.

    python tools/checks/serve_load.py --clients 50 --seconds 60

Starts `caps serve` on a free port with a folder of its own, fits one model, begins another fit and
keeps it running. Ends with code 1 if any answer was neither 200 nor 429, or if the 99th percentile
of the time to score the rows is not below the limit.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 0.250  # seconds


def ask(address: str, method: str, path: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(address + path, body, method=method)
    request.add_header("Content-Type", "application/json" if method == "PUT" else "text/csv")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A service with a folder of its own: its address and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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


def wave(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return 5 + 2 * np.sin(np.arange(rows) / 8) + 0.15 * rng.standard_normal(rows)


def begin_fit(address: str, name: str, **options: Any) -> None:
    body = json.dumps({"series": "wave", "replace": True, **options}).encode()
    ask(address, "PUT", f"/v1/models/{name}", body)


def prepare(address: str) -> None:
    """One model to ask, and a fit that goes on for longer than the check."""
    text = "value,other,third\n" + "\n".join(f"{v:.4f},{v:.4f},{v:.4f}" for v in wave(6000))
    ask(address, "POST", "/v1/series?name=wave", text.encode())
    begin_fit(address, "asked", columns=["value"], train=2000)
    while True:
        facts = ask(address, "GET", "/v1/models/asked")
        if facts["fit"] is None:
            break
        if facts["fit"]["state"] == "failed":
            raise SystemExit(f"the fit failed: {facts['fit']['problem']}")
        time.sleep(0.5)
    begin_fit(address, "running")


async def client(
    port: int, request: bytes, until: float, number: int, seen: list[tuple[int, float]]
) -> None:
    """Ask again and again; after a 429 wait as long as the service says."""
    rng = np.random.default_rng(number)
    await asyncio.sleep(float(rng.uniform(0, 1)))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        started = time.monotonic()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(headers["content-length"]))
        status = int(head.split()[1])
        seen.append((status, time.monotonic() - started))
        if status == 429:
            await asyncio.sleep(int(headers["retry-after"]) * float(rng.uniform(0.5, 1.5)))
    writer.close()


async def load(port: int, clients: int, seconds: float, rows: int) -> list[tuple[int, float]]:
    body = json.dumps({"columns": {"value": wave(rows).round(4).tolist()}}).encode()
    head = (
        f"POST /v1/models/asked/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request, seen = head.encode() + body, []
    until = time.monotonic() + seconds
    tasks = [client(port, request, until, number, seen) for number in range(clients)]
    failures = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if each]
    for failure in failures:
        print(f"a client failed: {failure!r}", file=sys.stderr)
    return seen + [(0, 0.0)] * len(failures)


def report(seen: list[tuple[int, float]], seconds: float) -> bool:
    counts = Counter(status for status, _ in seen)
    scored = np.array([time for status, time in seen if status == 200])
    print(f"answers: {dict(sorted(counts.items()))}; scored {len(scored) / seconds:.1f} a second")
    if not len(scored):
        print("nothing was scored")
        return False
    median, late, worst = np.quantile(scored, [0.5, 0.99, 1]) * 1000
    print(f"time to a score: median {median:.0f} ms, p99 {late:.0f} ms, longest {worst:.0f} ms")
    return set(counts) <= {200, 429} and late < 1000 * LIMIT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    with serving() as (address, service):
        prepare(address)
        print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        port = int(address.rsplit(":", 1)[1])
        seen = asyncio.run(load(port, options.clients, options.seconds, options.rows))
        fit = ask(address, "GET", "/v1/models/running")["fit"]
        print(f"the other fit: {'ended' if fit is None else fit['state']}")
        used = sum(map(int, Path(f"/proc/{service}/stat").read_text().split()[13:15]))
        print(f"processor time of the service: {used / os.sysconf('SC_CLK_TCK'):.1f} s")
    sys.exit(0 if report(seen, options.seconds) else 1)


if __name__ == "__main__":
    main()
