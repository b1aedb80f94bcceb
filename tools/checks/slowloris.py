"""Hundreds of clients that never finish a request, while others want answers.

    python tools/checks/slowloris.py --connections 600 --seconds 60

Starts `caps serve` on a free port with a folder of its own and fits one model. Then keeps so many
connections open that send a head line by line without an end, or, a third of them, a head and then
a body byte by byte; those that the service closes are opened again. Meanwhile `/health` is asked
and rows are scored, each time on a new connection. Ends with code 1 if any of those answers is not
200, or if one takes longer than the limit.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from serve_load import ask, begin_fit, serving, wave

LIMIT = 5.0  # seconds to an answer: the machine has other work too
BETWEEN = 1.0  # seconds between two bytes of an attacker


def prepare(address: str) -> None:
    """One model to ask."""
    text = "value\n" + "\n".join(f"{value:.4f}" for value in wave(3000))
    ask(address, "POST", "/v1/series?name=wave", text.encode())
    begin_fit(address, "asked", train=2000)
    while (fit := ask(address, "GET", "/v1/models/asked")["fit"]) is not None:
        if fit["state"] == "failed":
            raise SystemExit(f"the fit failed: {fit['problem']}")
        time.sleep(0.5)


async def attack(port: int, number: int, until: float, seen: Counter[str]) -> None:
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


async def client(port: int, request: bytes, until: float, seen: list[tuple[int, float]]) -> None:
    """Ask on a new connection each time; status 0 for no answer."""
    while time.monotonic() < until:
        started, status = time.monotonic(), 0
        try:
            async with asyncio.timeout(30):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                status = int((await reader.read()).split()[1])
                writer.close()
        except (OSError, TimeoutError, IndexError) as error:
            print(f"no answer: {error!r}", file=sys.stderr)
        seen.append((status, time.monotonic() - started))
        await asyncio.sleep(0.2)


def requests(port: int) -> dict[str, bytes]:
    body = json.dumps({"columns": {"value": wave(500).round(4).tolist()}})
    end = f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n"
    return {
        "health": f"GET /health HTTP/1.1\r\n{end}\r\n".encode(),
        "scores": (
            f"POST /v1/models/asked/score HTTP/1.1\r\n{end}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode(),
    }


def opened(process: int) -> int:
    """Files and connections that a process holds."""
    return len(os.listdir(f"/proc/{process}/fd"))


async def siege(port: int, process: int, connections: int, seconds: float) -> bool:
    """Attack and ask at once; whether everybody else got on."""
    until = time.monotonic() + seconds
    attacked: Counter[str] = Counter()
    tasks = [
        asyncio.create_task(attack(port, number, until, attacked)) for number in range(connections)
    ]
    await asyncio.sleep(min(5.0, seconds / 4))
    print(f"files and connections open in the service: {opened(process)}")
    answers: dict[str, list[tuple[int, float]]] = {name: [] for name in requests(port)}
    await asyncio.gather(
        *(client(port, each, until, answers[name]) for name, each in requests(port).items())
    )
    print(f"files and connections open at the end: {opened(process)}")
    await asyncio.gather(*tasks, return_exceptions=True)
    print(f"{connections} attackers: {dict(attacked)}")
    return all([report(name, seen) for name, seen in answers.items()])


def report(name: str, seen: list[tuple[int, float]]) -> bool:
    counts = Counter(status for status, _ in seen)
    median, late, worst = np.quantile([time for _, time in seen], [0.5, 0.99, 1])
    print(
        f"{name}: answers {dict(counts)}; median {1000 * median:.0f} ms, "
        f"p99 {1000 * late:.0f} ms, longest {1000 * worst:.0f} ms"
    )
    return set(counts) == {200} and worst < LIMIT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=600)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with serving() as (address, process):
        prepare(address)
        print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        port = int(address.rsplit(":", 1)[1])
        passed = asyncio.run(siege(port, process, options.connections, options.seconds))
        memory = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]
        print(f"memory of the service: {int(memory) / 1000:.0f} MB")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
