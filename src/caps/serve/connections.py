"""Connections that take their time: bounded in number and in how long a request's head may take.

uvicorn gives a client all the time in the world for the head of a request, and counts every open
connection against its limit: some hundred that never finish would shut everybody else out, before
any token is looked at.
"""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

OVERDUE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"the head of the request took too long: send it faster\n"
)


class Connection(H11Protocol):
    """Answers requests, and lets go of a client that does not get to one."""

    head_seconds: float
    most_waiting: int
    waiting: "dict[Connection, None]"  # without a request, those that began to wait first in front

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.due: asyncio.TimerHandle | None = None
        self.asked = False  # whether a request came in whole, ever

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._go_on()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The clock runs from the first byte of a head to its last, whatever comes in between."""
        super().data_received(data)
        if self.transport.is_closing():
            self._go_on()
        elif self._idle:
            self._hurry()

    def handle_events(self) -> None:
        """Also called when an answer is complete and the next request came with the last one."""
        super().handle_events()
        if not self._idle:
            self.asked = True
            self._go_on()

    def on_response_complete(self) -> None:
        """Wait for the next request, for as long as connections are kept open."""
        self._wait()
        super().on_response_complete()
        if self._idle and self.conn.trailing_data[0]:  # half of it came with the last one
            self._hurry()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self.waiting.pop(self, None)
        if self.transport.is_closing():
            return
        self.waiting[self] = None
        if len(self.waiting) > self.most_waiting:
            # Those that never asked for anything go first, then who waited longest.
            strangers = (each for each in self.waiting if not each.asked and each is not self)
            yielding = next(strangers, next(iter(self.waiting)))
            yielding._go_on()
            yielding.transport.abort()

    def _hurry(self) -> None:
        if self.due is None:
            self.due = self.loop.call_later(self.head_seconds, self._overdue)

    def _go_on(self) -> None:
        self.waiting.pop(self, None)
        if self.due is not None:
            self.due.cancel()
            self.due = None

    def _overdue(self) -> None:
        self.due = None
        if self.conn.trailing_data[0]:  # a browser may open a connection for later and send nothing
            self.transport.write(OVERDUE)
        self.transport.close()


def connections(head_seconds: float, most_waiting: int) -> type[Connection]:
    """The protocol of one server, with limits of its own."""
    # Half of the files that this process may open: the rest is for requests and the disk.
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        most_waiting = min(most_waiting, max(16, files // 2))
    facts = {"head_seconds": head_seconds, "most_waiting": most_waiting, "waiting": {}}
    return type("Connection", (Connection,), facts)
