"""Hundreds of clients that never finish a request, while others want answers.

They send a head line by line without an end or, a third of them, a head and then a body byte by
byte; connections that the service closes are opened again. Meanwhile `/health` is asked and rows
are scored, each time on a new connection.
"""

import asyncio
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from tools.deployment.service import Answers, fit, milliseconds, serving, upload, wave
from tools.machine import machine

LIMIT = 5.0  # seconds to an answer: the machine has other work too
BETWEEN = 1.0  # seconds between two bytes of an attacker
CONNECTIONS, SECONDS, QUICK_SECONDS = 600, 60, 10


def slowloris(run: StudyRun) -> Report:
    """Fails if any answer to the others is not 200, or takes longer than the limit."""
    seconds = QUICK_SECONDS if run.quick else SECONDS
    with serving() as (address, process):
        lines = "\n".join(f"{value:.4f}" for value in wave(3000))
        upload(address, "wave", f"value\n{lines}")
        fit(address, "asked", series="wave", replace=True, train=2000)
        load = os.getloadavg()[0]
        run.say(f"{CONNECTIONS} connections for {seconds} s; load average before: {load:.1f}")
        facts, answers = asyncio.run(_siege(address, process, seconds, run))
        memory = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]
    rows = [
        [
            name,
            str(dict(Counter(status for status, _ in seen))),
            *milliseconds([taken for _, taken in seen]),
        ]
        for name, seen in answers.items()
    ]
    passed = all(
        status == 200 and taken < LIMIT for seen in answers.values() for status, taken in seen
    )
    return Report(
        "Requests without an end",
        [f"{CONNECTIONS} attackers for {seconds} s. {machine()}; load average before: {load:.1f}."],
        [
            Table(
                "slowloris",
                "Answers to others",
                ["asked", "answers", "median", "99 of 100 below", "longest"],
                rows,
                [*facts, f"Memory of the service: {int(memory) / 1000:.0f} MB."],
            )
        ],
        wanted=f"every answer is 200, none takes longer than {LIMIT:g} s",
        passed=passed,
    )


async def _siege(
    address: str, process: int, seconds: float, run: StudyRun
) -> tuple[list[str], dict[str, Answers]]:
    """Attack and ask at once; what was seen of the attack, and the answers to others."""
    until, port = time.monotonic() + seconds, int(address.rsplit(":", 1)[1])
    attacked: Counter[str] = Counter()
    tasks = [
        asyncio.create_task(_attack(port, number, until, attacked)) for number in range(CONNECTIONS)
    ]
    await asyncio.sleep(min(5.0, seconds / 4))
    before = _opened(process)
    rows = {"columns": {"value": wave(500).round(4).tolist()}}
    answers: dict[str, Answers] = {"health": [], "scores": []}
    await asyncio.gather(
        _client(f"{address}/health", None, until, answers["health"], run),
        _client(f"{address}/v1/models/asked/score", rows, until, answers["scores"], run),
    )
    after = _opened(process)
    await asyncio.gather(*tasks, return_exceptions=True)
    facts = [
        f"Files and connections open in the service: {before}, at the end {after}.",
        f"Attackers: {', '.join(f'{count} {what}' for what, count in attacked.items())}.",
    ]
    return facts, answers


async def _attack(port: int, number: int, until: float, seen: Counter[str]) -> None:
    """Half a request, again and again."""
    head = f"POST /v1/models/asked/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    body = number % 3 == 0
    if body:
        head += "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            seen["opened"] += 1
            writer.write(head.encode())
            end = asyncio.create_task(reader.read(1000))
            while time.monotonic() < until:
                done, _ = await asyncio.wait([end], timeout=BETWEEN)
                if done:
                    answer = end.result()
                    seen["told 408" if b" 408 " in answer else "closed"] += 1
                    break
                writer.write(b" " if body else b"X-A: b\r\n")
            end.cancel()
            writer.close()
        except OSError:
            seen["refused"] += 1
            await asyncio.sleep(BETWEEN)


async def _client(url: str, rows: Any, until: float, seen: Answers, run: StudyRun) -> None:
    """Ask on a new connection each time, or post rows; status 0 for no answer."""
    method = "GET" if rows is None else "POST"
    anew = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=30, limits=anew) as client:
        while time.monotonic() < until:
            started, status = time.monotonic(), 0
            try:
                status = (await client.request(method, url, json=rows)).status_code
            except httpx.HTTPError as error:
                run.say(f"no answer: {error!r}")
            seen.append((status, time.monotonic() - started))
            await asyncio.sleep(0.2)


def _opened(process: int) -> int:
    """Files and connections that a process holds."""
    return len(os.listdir(f"/proc/{process}/fd"))
