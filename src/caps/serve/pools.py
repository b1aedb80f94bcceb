"""Threads that do the work of requests: a bounded queue, and a time by which an answer is due."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from caps.jobs import single_products
from caps.serve.refusals import Refusal, busy

Answer = TypeVar("Answer")


class Pool:
    """A few threads; who would wait too long is refused with 429."""

    def __init__(self, what: str, threads: int, waiting: int, seconds: float) -> None:
        self.what, self.most, self.seconds = what, threads + waiting, seconds
        self.under_way = 0
        self.executor = ThreadPoolExecutor(threads, f"caps-{what}", initializer=_alone)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do the work in a thread."""
        if self.under_way >= self.most:
            raise busy(self.what)
        self.under_way += 1
        loop = asyncio.get_running_loop()
        future = self.executor.submit(work)
        # Work that nobody waits for any more still takes its thread.
        future.add_done_callback(lambda each: self._ended(loop, each))
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

    def _ended(self, loop: asyncio.AbstractEventLoop, _: Future[Answer]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._count_down)

    def _count_down(self) -> None:
        self.under_way -= 1


def _alone() -> None:
    """Several threads for one product would wait for those of other requests."""
    import torch  # only after `run` has set the threads that it finds

    torch.set_num_threads(1)
    single_products()
