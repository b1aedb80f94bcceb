"""Bodies of requests on their way in: unpacked, and cut off where they get too long or too slow."""

import asyncio
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.types import Message, Receive

from caps.serve.refusals import Refusal

GZIP = 16 + zlib.MAX_WBITS
HEAD_START = 65_536  # bytes


class Intake:
    """The bodies that are waited for: when there are too many, the slowest makes room.

    Whoever sends at an ordinary pace is not kept out by some hundred that hardly send at all.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.bodies: set[Body] = set()

    @contextmanager
    def waiting(self, body: "Body") -> Iterator[None]:
        """While the next piece of a body is waited for."""
        if len(self.bodies) >= self.most:
            slowest = min(self.bodies, key=lambda each: each.rate)
            self.bodies.discard(slowest)
            slowest.give_up()
        self.bodies.add(body)
        try:
            yield
        finally:
            self.bodies.discard(body)


class Body:
    """Hands a request's body on, piece by piece."""

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[str, str],
        *,
        limit: int,
        seconds: float,
        intake: Intake,
    ) -> None:
        self.next, self.limit, self.seconds, self.intake = receive, limit, seconds, intake
        self.started = time.monotonic()
        self.due = self.started + seconds
        self.arrived = self.seen = 0  # bytes as they came, and unpacked
        self.complete = self.let_go = False
        self.waiting: asyncio.Timeout | None = None
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise Refusal(400, "the content length is no number", "send the length in bytes")
        if int(length) > limit:
            raise self._too_long()
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("identity", "gzip", ""):
            raise Refusal(415, "an unknown content encoding", "send the body as it is, or gzip")
        self.member = zlib.decompressobj(GZIP) if coding == "gzip" else None

    @property
    def rate(self) -> float:
        """Bytes a second so far; one that has just begun is no slow one."""
        return (self.arrived + HEAD_START) / max(1e-3, time.monotonic() - self.started)

    def give_up(self) -> None:
        """Wait no longer for the rest."""
        self.let_go, self.due = True, time.monotonic()
        if self.waiting is not None:
            self.waiting.reschedule(0)

    async def receive(self) -> Message:
        """The next piece."""
        if self.complete:
            return await self.next()
        try:
            left = max(0.001, self.due - time.monotonic())
            async with asyncio.timeout(left) as self.waiting:
                with self.intake.waiting(self):
                    message = await self.next()
        except TimeoutError:
            problem = f"the body took more than {self.seconds:g} seconds"
            if self.let_go:
                problem = "too many bodies are on their way, and this one is the slowest"
            raise Refusal(408, problem, "send it faster", {"Connection": "close"}) from None
        finally:
            self.waiting = None
        if message["type"] != "http.request":
            return message
        self.complete = not message.get("more_body", False)
        piece = message.get("body", b"")
        self.arrived += len(piece)
        if self.member is not None:
            piece = self._unpacked(self.member, piece)
        self.seen += len(piece)
        if self.seen > self.limit:
            raise self._too_long()
        return {**message, "body": piece}

    def _unpacked(self, member: "zlib._Decompress", piece: bytes) -> bytes:
        """What a piece holds: one gzip member after another, as `cat a.gz b.gz` makes them."""
        parts = []
        room = self.limit - self.seen + 1  # never more than one byte beyond the limit
        try:
            while piece and room > 0:
                if member.eof:
                    piece = piece.lstrip(b"\0")  # members may be padded
                    if not piece:
                        break
                    member = self.member = zlib.decompressobj(GZIP)
                parts.append(member.decompress(piece, room))
                room -= len(parts[-1])
                piece = member.unused_data
        except zlib.error:
            raise Refusal(
                400, "the body is no gzip", "pack it again, or send it as it is"
            ) from None
        if self.complete and not member.eof and room > 0:
            raise Refusal(400, "the gzip body is cut off", "send it again")
        return b"".join(parts)

    def _too_long(self) -> Refusal:
        return Refusal(
            413, f"the body is longer than {self.limit / 1e6:g} MB", "send less, or in parts"
        )
