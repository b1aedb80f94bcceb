"""A service under attack, then under load: what do others get, how late, and what is refused?

First hundreds of clients never finish a request: they send a head line by line without an end or,
a third of them, a head and then a body byte by byte; connections that the service closes are opened
again. Then fifty clients ask for scores while a fit runs.
"""

import asyncio
import json
import os
import time
from collections import Counter
from pathlib import Path

import httpx
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

ATTACKERS, CLIENTS, SECONDS, QUICK_SECONDS = 600, 50, 60, 10
UNDER_ATTACK, UNDER_LOAD = 5.0, 0.250  # seconds to any answer, and to 99 of 100 scores
BETWEEN = 1.0  # seconds between two bytes of an attacker
HEADER = ["asked", "answers", "median", "99 of 100 below", "longest"]


def serve_load(run: StudyRun) -> Report:
    """Fails if an answer under attack is not 200, one under load neither 200 nor 429, or late."""
    seconds = QUICK_SECONDS if run.quick else SECONDS
    load = os.getloadavg()[0]
    with serving() as (address, process):
        lines = "\n".join(f"{v:.4f},{v:.4f},{v:.4f}" for v in wave(6000))
        upload(address, "wave", f"value,other,third\n{lines}")
        fit(address, "asked", series="wave", replace=True, columns=["value"], train=2000)
        run.say(f"{ATTACKERS} attackers for {seconds} s; load average before: {load:.1f}")
        notes, attacked = asyncio.run(_attack(address, process, seconds))
        begin_fit(address, "running", series="wave", replace=True)
        run.say(f"{CLIENTS} clients for {seconds} s")
        loaded = asyncio.run(_load(address, seconds))
        other = ask(address, "GET", "/v1/models/running")["fit"]
        state = "ended" if other is None else other["state"]
        memory = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]
    notes.append(f"Memory of the service: {int(memory) / 1000:.0f} MB.")
    under_load = f"{len(loaded) / seconds:.1f} answers a second; the other fit: {state}."
    scored = [taken for status, taken in loaded if status == 200]
    others = [answer for seen in attacked.values() for answer in seen]
    passed = all(status == 200 and taken < UNDER_ATTACK for status, taken in others)
    passed &= {status for status, _ in loaded} <= {200, 429}
    passed &= bool(scored) and float(np.quantile(scored, 0.99)) < UNDER_LOAD
    return Report(
        "Attack and load on the service",
        [
            f"{ATTACKERS} attackers for {seconds} s, then {CLIENTS} clients that ask for scores of "
            f"1,000 rows for {seconds} s; one that gets 429 waits as it is told. {machine()}; load "
            f"average before: {load:.1f}."
        ],
        [
            Table(
                "serve load: attack",
                "Answers to others under attack",
                HEADER,
                [_row(name, seen) for name, seen in attacked.items()],
                notes,
            ),
            Table(
                "serve load: load",
                "Answers under load, times of scores",
                HEADER,
                [_row("scores", loaded)],
                [under_load],
            ),
        ],
        wanted=f"under attack only 200 within {UNDER_ATTACK:g} s; under load only 200 and 429, 99 "
        f"of 100 scores below {1000 * UNDER_LOAD:.0f} ms",
        passed=passed,
    )


def _row(name: str, seen: Answers) -> list[str]:
    counts = dict(sorted(Counter(status for status, _ in seen).items()))
    scored = [taken for status, taken in seen if status == 200]
    return [name, str(counts), *(milliseconds(scored) if scored else ["-"] * 3)]


async def _load(address: str, seconds: float) -> Answers:
    """Ask as fast as the service lets fifty clients."""
    until = time.monotonic() + seconds
    clients = [_scores(address, 1000, until, number) for number in range(CLIENTS)]
    return [answer for seen in await asyncio.gather(*clients) for answer in seen]


async def _attack(
    address: str, process: int, seconds: float
) -> tuple[list[str], dict[str, Answers]]:
    """Attack and ask at once; what was seen of the attack, and the answers to others."""
    until, port = time.monotonic() + seconds, int(address.rsplit(":", 1)[1])
    seen: Counter[str] = Counter()
    attackers = [
        asyncio.create_task(_attacker(port, number, until, seen)) for number in range(ATTACKERS)
    ]
    await asyncio.sleep(min(5.0, seconds / 4))
    before = _opened(process)
    health = _client("GET", f"{address}/health", b"", until, pause=0.2)
    answers = await asyncio.gather(health, _scores(address, 500, until, pause=0.2))
    after = _opened(process)
    await asyncio.gather(*attackers, return_exceptions=True)
    facts = [
        f"Files and connections open in the service: {before}, at the end {after}.",
        f"Attackers: {', '.join(f'{count} {what}' for what, count in seen.items())}.",
    ]
    return facts, dict(zip(("health", "scores"), answers, strict=True))


async def _attacker(port: int, number: int, until: float, seen: Counter[str]) -> None:
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


async def _scores(
    address: str, rows: int, until: float, number: int = 0, *, pause: float = 0.0
) -> Answers:
    body = json.dumps({"columns": {"value": wave(rows).round(4).tolist()}}).encode()
    url = f"{address}/v1/models/asked/score"
    return await _client("POST", url, body, until, number, pause=pause)


async def _client(
    method: str, url: str, body: bytes, until: float, number: int = 0, *, pause: float
) -> Answers:
    """Ask again and again, with a `pause` on a new connection; status 0 for no answer.

    After a 429 it waits as long as the service says.
    """
    rng, seen = np.random.default_rng(number), Answers()
    kept = httpx.Limits(max_keepalive_connections=0 if pause else 1)
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(timeout=30, limits=kept, headers=headers) as client:
        await asyncio.sleep(float(rng.uniform(0, 1)))
        while time.monotonic() < until:
            started, status, wait = time.monotonic(), 0, pause
            try:
                answer = await client.request(method, url, content=body)
                status = answer.status_code
                if status == 429:
                    wait = int(answer.headers["retry-after"]) * float(rng.uniform(0.5, 1.5))
            except httpx.HTTPError:
                wait = BETWEEN
            seen.append((status, time.monotonic() - started))
            await asyncio.sleep(wait)
    return seen


def _opened(process: int) -> int:
    """Files and connections that a process holds."""
    return len(os.listdir(f"/proc/{process}/fd"))
