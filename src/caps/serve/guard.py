"""What every request passes first: who asks, from where, how much it sends, how long it takes.

Plain ASGI, around everything else, so that no endpoint can forget it.
"""

import hmac
import json
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caps.serve.bodies import Body, Intake
from caps.serve.monitoring import Monitor
from caps.serve.refusals import Refusal
from caps.serve.settings import Settings

UPLOADS = "/v1/series"
PROTECTED = ("/v1/", "/metrics", "/openapi.json")
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
SECURITY = {
    b"content-security-policy": (
        b"default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        b"img-src 'self' data: blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; "
        b"frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}


class Guard:
    """Refuses what must not reach an endpoint, and counts all the rest."""

    def __init__(self, app: ASGIApp, settings: Settings, monitor: Monitor) -> None:
        self.app, self.settings, self.monitor = app, settings, monitor
        self.intake = Intake(settings.waiting_bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        started = time.perf_counter()
        try:
            headers = dict(scope["headers"])
            self._check_origin(headers)
            self._check_token(scope["path"], headers)
            body = Body(
                receive,
                headers,
                limit=self._limit(scope),
                seconds=self.settings.body_seconds,
                intake=self.intake,
            )
            await self.app(scope, body.receive, answer.send)
        except Refusal as refusal:
            await answer.refuse(refusal)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.monitor.request(
                scope["method"], route, answer.status, time.perf_counter() - started
            )

    def _limit(self, scope: Scope) -> int:
        upload = scope["path"] == UPLOADS and scope["method"] == "POST"
        return self.settings.upload_bytes if upload else self.settings.body_bytes

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Other sites must not use the reader's browser to get here."""
        host = headers.get(b"host", b"").decode("latin-1")
        if self.settings.token is None:
            named = _hostname(f"//{host}")
            if named not in LOCAL_NAMES | {self.settings.host}:
                raise Refusal(
                    421, f"this service is not {host!r}", "use its own address, or give it a token"
                )
        origin = headers.get(b"origin", b"").decode("latin-1")
        foreign = origin and _netloc(origin) != host
        if foreign or headers.get(b"sec-fetch-site") == b"cross-site":
            raise Refusal(403, "the request comes from another site", "use the service's own page")

    def _check_token(self, path: str, headers: dict[bytes, bytes]) -> None:
        if self.settings.token is None or not path.startswith(PROTECTED):
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        wanted = self.settings.token.encode()
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), wanted):
            raise Refusal(
                401,
                "the token is missing or wrong",
                "send the header Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.path: str = scope["path"]
        self.forward: Callable[[Message], Awaitable[None]] = send
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), *SECURITY.items()]
            if self.path.startswith("/v1/"):
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await self.forward(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal, unless an answer has begun."""
        if self.status:
            return
        body = json.dumps({"problem": refusal.problem, "remedy": refusal.remedy}).encode()
        # The connection stays: closed with unread bytes in it, it would be reset before the client
        # has read why. What is left of the body is thrown away, for as long as a head may take.
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)),
                   **refusal.headers}  # fmt: skip
        encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self.send(
            {"type": "http.response.start", "status": refusal.status, "headers": encoded}
        )
        await self.send({"type": "http.response.body", "body": body})


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _netloc(origin: str) -> str | None:
    """Host and port of an origin; None if it has none ("null", malformed)."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None
