"""Bounded queues, time limits and what is kept in memory."""

import asyncio
import threading
import time

import pytest

from caps.serve.cache import Cache
from caps.serve.pools import Pool
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
