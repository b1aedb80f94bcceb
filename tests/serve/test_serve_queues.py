"""Bounded queues, time limits and what is kept in memory."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from running_service import answering, broken_table, csv_of

from caps.serve import service
from caps.serve.bodies import Body, Intake
from caps.serve.pools import Cache, Pool
from caps.serve.refusals import Refusal


def test_a_full_queue_is_told_at_once_and_empties_again() -> None:
    release = threading.Event()

    async def crowd() -> list[object]:
        pool = Pool("scores", 1, 2, seconds=30)
        tasks = [asyncio.create_task(pool.run(lambda: release.wait(30))) for _ in range(5)]
        await asyncio.sleep(0.05)
        release.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        answers.append(await pool.run(lambda: "again"))
        pool.stop()
        return answers

    answers = asyncio.run(crowd())
    refused = [each for each in answers if isinstance(each, Refusal)]
    assert [each.status for each in refused] == [429, 429]
    assert refused[0].headers["Retry-After"] == "1"
    assert answers.count(True) == 3
    assert answers[-1] == "again"


def test_work_that_takes_too_long_is_given_up_but_still_counts() -> None:
    release = threading.Event()

    async def slow() -> int:
        pool = Pool("scores", 1, 0, seconds=0.05)
        with pytest.raises(Refusal) as refusal:
            await pool.run(lambda: release.wait(30))
        assert refusal.value.status == 503
        with pytest.raises(Refusal) as refusal:
            await pool.run(lambda: True)
        release.set()
        while pool.under_way:
            await asyncio.sleep(0.01)
        pool.stop()
        return refusal.value.status

    assert asyncio.run(slow()) == 429


def test_what_many_ask_for_is_made_once() -> None:
    cache, made = Cache[int](2), []

    def make() -> int:
        time.sleep(0.05)
        made.append(1)
        return 7

    threads = [threading.Thread(target=cache.get, args=("key", make)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    cache.get("second", lambda: 1)
    cache.get("third", lambda: 1)
    assert cache.get("key", lambda: 8) == 8  # the oldest had to go


def test_a_failure_is_not_kept() -> None:
    cache = Cache[int](2)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("key", fail)
    assert cache.get("key", lambda: 3) == 3


def test_nobody_waits_behind_a_large_series_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, release = threading.Event(), threading.Event()
    read_upload = service.read_upload

    def slowly(path: Path, file: str, options: dict[str, Any]) -> Any:
        if file == "large.csv":
            begun.set()
            assert release.wait(60)
        return read_upload(path, file, options)

    monkeypatch.setattr(service, "read_upload", slowly)
    statuses: list[int] = []
    with answering(tmp_path, large_values=1000) as client:
        for name, rows in (("large", 1000), ("small", 100)):
            content = csv_of(broken_table(rows)) if rows > 305 else b"a\n" + b"1\n2\n" * rows
            answer = client.post(f"/v1/series?name={name}&file={name}.csv", content=content)
            assert answer.status_code == 201, answer.text

        def ask() -> None:
            statuses.append(client.get("/v1/series/large/lines").status_code)

        others = [threading.Thread(target=ask) for _ in range(3)]
        for other in others:
            other.start()
        assert begun.wait(60)
        try:
            assert client.get("/v1/series/small/lines").status_code == 200
            assert client.get("/v1/series/small/rows").status_code == 200
            assert statuses == []
        finally:
            release.set()
        for other in others:
            other.join(60)
        assert statuses == [200, 200, 200]
        # Once it is read, a large series is drawn like any other.
        monkeypatch.setattr(client.service, "long_viewers", None)
        assert client.get("/v1/series/large/lines").status_code == 200


def test_of_too_many_bodies_the_slowest_is_let_go() -> None:
    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def crowd() -> list[object]:
        intake = Intake(2)
        bodies = [Body(receive, {}, limit=9, seconds=3600, intake=intake) for _ in range(4)]
        bodies[0].started -= 100
        bodies[1].started -= 100
        bodies[0].arrived = 10**12  # has been at it for as long, but sends
        tasks = [asyncio.create_task(body.receive()) for body in bodies]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        while len(done) < 2:
            more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
            done |= more
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return [task.exception() if task in done else None for task in tasks]

    kept, let_go, *_ = outcomes = asyncio.run(crowd())
    assert kept is None
    assert isinstance(let_go, Refusal)
    assert let_go.status == 408
    assert "slowest" in let_go.problem
    assert sum(each is None for each in outcomes) == 2
