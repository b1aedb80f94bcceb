"""What every request passes first: who asks, from where, how much it sends, how long it takes.

Plain ASGI, around everything else, so that no endpoint can forget it.
"""

import hmac
import time
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caps.serve.bodies import Body, Intake
from caps.serve.monitoring import Monitor
from caps.serve.refusals import Refusal, answer
from caps.serve.settings import Settings

UPLOADS = "/v1/series"
PROTECTED = ("/v1/", "/metrics", "/openapi.json")
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Refuses what must not reach an endpoint, counts all the rest, and adds to every answer."""

    def __init__(self, app: ASGIApp, settings: Settings, monitor: Monitor) -> None:
        self.app, self.settings, self.monitor = app, settings, monitor
        self.intake = Intake(settings.waiting_bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, status, started = scope["path"], 0, time.perf_counter()

        async def forward(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                added = MutableHeaders(scope=message)
                added.update(SECURITY)
                if path.startswith("/v1/"):
                    added["cache-control"] = "no-store"
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_origin(headers)
            self._check_token(path, headers)
            upload = path == UPLOADS and scope["method"] == "POST"
            limit = self.settings.upload_bytes if upload else self.settings.body_bytes
            body = Body(
                receive, headers, limit=limit, seconds=self.settings.body_seconds,
                intake=self.intake,
            )  # fmt: skip
            await self.app(scope, body.receive, forward)
        except Refusal as refusal:
            # The connection stays: closed with unread bytes in it, it would be reset before the
            # client has read why. What is left of the body is thrown away, for as long as a head
            # may take.
            if not status:
                await answer(refusal)(scope, receive, forward)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.monitor.request(scope["method"], route, status, time.perf_counter() - started)

    def _check_origin(self, headers: Headers) -> None:
        """Other sites must not use the reader's browser to get here."""
        host = headers.get("host", "")
        own = LOCAL_NAMES | {self.settings.host}
        if self.settings.token is None and _split(f"//{host}").hostname not in own:
            raise Refusal(
                421, f"this service is not {host!r}", "use its own address, or give it a token"
            )
        origin = headers.get("origin")
        foreign = origin and (_split(origin).netloc or None) != host
        if foreign or headers.get("sec-fetch-site") == "cross-site":
            raise Refusal(403, "the request comes from another site", "use the service's own page")

    def _check_token(self, path: str, headers: Headers) -> None:
        if self.settings.token is None or not path.startswith(PROTECTED):
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self.settings.token.encode())
        if scheme.lower() != "bearer" or not right:
            raise Refusal(
                401,
                "the token is missing or wrong",
                "send the header Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )


def _split(url: str) -> SplitResult:
    """The parts of a URL; a malformed one has none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
