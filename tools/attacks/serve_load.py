"""Many clients ask a service for scores while a fit runs: errors, latencies, requests refused."""

import asyncio
import json
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np

from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from tools.deployment.service import (
    Answers,
    ask,
    begin_fit,
    fit,
    milliseconds,
    serving,
    upload,
    wave,
)
from tools.machine import machine

LIMIT = 0.250  # seconds for 99 of 100 scores
CLIENTS, SECONDS, QUICK_SECONDS, ROWS = 50, 60, 10, 1000


def serve_load(run: StudyRun) -> Report:
    """Fails if any answer is neither 200 nor 429, or if scores come too late."""
    seconds = QUICK_SECONDS if run.quick else SECONDS
    with serving() as (address, service):
        _prepare(address)
        load = os.getloadavg()[0]
        run.say(f"{CLIENTS} clients for {seconds} s; load average before: {load:.1f}")
        seen = asyncio.run(_load(int(address.rsplit(":", 1)[1]), seconds, run))
        other = ask(address, "GET", "/v1/models/running")["fit"]
        used = sum(map(int, Path(f"/proc/{service}/stat").read_text().split()[13:15]))
    counts = Counter(status for status, _ in seen)
    scored = [taken for status, taken in seen if status == 200]
    rows = [
        ["answers", str(dict(sorted(counts.items())))],
        ["scored a second", f"{len(scored) / seconds:.1f}"],
        ["the other fit", "ended" if other is None else other["state"]],
        ["processor time of the service", f"{used / os.sysconf('SC_CLK_TCK'):.1f} s"],
    ]
    if scored:
        names = ("median", "99 of 100 below", "longest")
        times = zip(names, milliseconds(scored), strict=True)
        rows += [[f"time to a score, {name}", text] for name, text in times]
    in_time = bool(scored) and float(np.quantile(scored, 0.99)) < LIMIT
    passed = set(counts) <= {200, 429} and in_time
    return Report(
        "Load on the service",
        [
            f"{CLIENTS} clients ask for scores of {ROWS:,} rows for {seconds} s; one that gets 429 "
            f"waits as it is told. {machine()}; load average before: {load:.1f}."
        ],
        [Table("serve load", "Answers", ["what", "measured"], rows)],
        wanted=f"only 200 and 429, 99 of 100 scores below {1000 * LIMIT:.0f} ms",
        passed=passed,
    )


def _prepare(address: str) -> None:
    """One model to ask, and a fit that goes on for longer than the check."""
    lines = "\n".join(f"{v:.4f},{v:.4f},{v:.4f}" for v in wave(6000))
    upload(address, "wave", f"value,other,third\n{lines}")
    fit(address, "asked", series="wave", replace=True, columns=["value"], train=2000)
    begin_fit(address, "running", series="wave", replace=True)


async def _load(port: int, seconds: float, run: StudyRun) -> Answers:
    body = json.dumps({"columns": {"value": wave(ROWS).round(4).tolist()}}).encode()
    head = (
        f"POST /v1/models/asked/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    seen: Answers = []
    until = time.monotonic() + seconds
    tasks = [_client(port, request, until, number, seen) for number in range(CLIENTS)]
    failures = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if each]
    for failure in failures:
        run.say(f"a client failed: {failure!r}")
    return seen + [(0, 0.0)] * len(failures)


async def _client(port: int, request: bytes, until: float, number: int, seen: Answers) -> None:
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
