"""The work of requests: done in a few threads, due by a time, and kept where it was costly."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Generic, TypeVar

from caps.jobs import single_products
from caps.serve.refusals import Refusal, busy

Answer = TypeVar("Answer")
Kept = TypeVar("Kept")


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


class Cache(Generic[Kept]):
    """Keeps the last `size` things; who asks for one that is being made waits for it.

    >>> cache = Cache[int](2)
    >>> [cache.get(key, lambda: key * 10) for key in (1, 2, 1)]
    [10, 20, 10]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = Lock()
        self.kept: OrderedDict[Hashable, Future[Kept]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept under `key`, made now if it is not."""
        with self.lock:
            future = self.kept.get(key)
            mine = future is None
            if future is None:
                future = self.kept[key] = Future()
            self.kept.move_to_end(key)
            while len(self.kept) > self.size:
                self.kept.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self.lock:
                    if self.kept.get(key) is future:
                        del self.kept[key]
                future.set_exception(error)
        return future.result()

    def has(self, key: Hashable) -> bool:
        """Whether `key` would be answered at once."""
        with self.lock:
            future = self.kept.get(key)
            return future is not None and future.done()
