"""Threads that do the work of requests: a bounded queue, and a time by which an answer is due."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from caps.jobs import single_products
from caps.serve.refusals import Refusal, busy

Answer = TypeVar("Answer")


class Pool:
    """A few threads; who would wait too long is refused with 429."""

    def __init__(self, what: str, threads: int, waiting: int, seconds: float) -> None:
        self.what, self.most, self.seconds = what, threads + waiting, seconds
        # With work that nobody waits for any more: it still takes its thread.
        self.under_way: set[Future[Any]] = set()
        self.executor = ThreadPoolExecutor(threads, f"caps-{what}", initializer=_alone)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do the work in a thread."""
        if len(self.under_way) >= self.most:
            raise busy(self.what)
        future = self.executor.submit(work)
        self.under_way.add(future)
        future.add_done_callback(self.under_way.discard)
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise Refusal(
                503, f"no answer within {self.seconds:g} seconds", "send fewer rows, or try later"
            ) from None

    def stop(self) -> None:
        """Take no more work."""
        self.executor.shutdown(wait=False, cancel_futures=True)


def _alone() -> None:
    """Several threads for one product would wait for those of other requests."""
    import torch  # seconds that starting the service does without

    torch.set_num_threads(1)
    single_products()
