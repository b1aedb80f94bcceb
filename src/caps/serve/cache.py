"""Things that are costly to make and asked for again: the last few are kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


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
