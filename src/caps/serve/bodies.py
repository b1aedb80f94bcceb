"""Bodies of requests on their way in: unpacked, and cut off where they get too long or too slow."""

import asyncio
import time
import zlib
from collections.abc import Iterator
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
        headers: dict[bytes, bytes],
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
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise Refusal(400, "the content length is no number", "send the length in bytes")
        if int(length) > limit:
            raise self._too_long()
        coding = headers.get(b"content-encoding", b"identity").strip().lower()
        if coding not in (b"identity", b"gzip", b""):
            raise Refusal(415, "an unknown content encoding", "send the body as it is, or gzip")
        self.members = _Members() if coding == b"gzip" else None

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
            raise self._too_slow() from None
        finally:
            self.waiting = None
        if message["type"] != "http.request":
            return message
        self.complete = not message.get("more_body", False)
        piece = message.get("body", b"")
        self.arrived += len(piece)
        return {**message, "body": self._taken(piece)}

    def _taken(self, piece: bytes) -> bytes:
        if self.members is not None:
            piece = self._unpacked(self.members, piece)
        self.seen += len(piece)
        if self.seen > self.limit:
            raise self._too_long()
        return piece

    def _unpacked(self, members: "_Members", piece: bytes) -> bytes:
        # Never more than one byte beyond the limit, however well it was packed.
        room = self.limit - self.seen + 1
        try:
            unpacked = members.unpack(piece, room)
        except zlib.error:
            raise Refusal(
                400, "the body is no gzip", "pack it again, or send it as it is"
            ) from None
        if self.complete and not members.whole and len(unpacked) < room:
            raise Refusal(400, "the gzip body is cut off", "send it again")
        return unpacked

    def _too_long(self) -> Refusal:
        return Refusal(
            413, f"the body is longer than {self.limit / 1e6:g} MB", "send less, or in parts"
        )

    def _too_slow(self) -> Refusal:
        if self.let_go:
            problem = "too many bodies are on their way, and this one is the slowest"
        else:
            problem = f"the body took more than {self.seconds:g} seconds"
        return Refusal(408, problem, "send it faster", {"Connection": "close"})


class _Members:
    """Unpacks a gzip body: one member after another, as `cat a.gz b.gz` makes them."""

    def __init__(self) -> None:
        self.member = zlib.decompressobj(GZIP)

    @property
    def whole(self) -> bool:
        """Whether the last member has ended."""
        return self.member.eof

    def unpack(self, piece: bytes, most: int) -> bytes:
        """What a piece holds, at most so many bytes."""
        parts = []
        while piece and most > 0:
            if self.member.eof:
                piece = piece.lstrip(b"\0")  # members may be padded
                if not piece:
                    break
                self.member = zlib.decompressobj(GZIP)
            parts.append(self.member.decompress(piece, most))
            most -= len(parts[-1])
            piece = self.member.unused_data
        return b"".join(parts)
