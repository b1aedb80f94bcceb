"""One POST over HTTP, bounded in time as a whole, that never follows a redirect."""

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

LATER = {408, 425, 429}  # refusals that ask to come again


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, seconds: float
) -> tuple[str | None, bool]:
    """Send it; what went wrong, if anything, and whether to try again."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
    line = _Line()
    opener = urllib.request.build_opener(_Handler(line), _NoRedirect())
    # The timeout of a socket bounds each wait, and an answer may trickle in for ever.
    limit = threading.Timer(seconds, line.hang_up)
    limit.daemon = True
    limit.start()
    try:
        with opener.open(request, timeout=seconds):
            return None, False
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers.get("Location"))
    except Exception as error:  # http.client raises its own kinds on broken answers
        if line.hung_up:
            return f"it did not answer within {seconds:g} s", True
        if isinstance(error, OSError | ValueError):  # no connection, no sense
            return f"it cannot be reached ({error})", True
        return f"its answer cannot be read ({error})", True
    finally:
        limit.cancel()


def _answer(code: int, location: str | None) -> tuple[str, bool]:
    if 300 <= code < 400:
        # Followed, a POST would become an empty GET. Kept, so that a watch with the right
        # address and the same state can still send it.
        where = f" ({location!r})" if location else ""
        return f"it answers {code}: it moved{where}, give that address to --webhook", True
    return f"it answers {code}", code >= 500 or code in LATER


class _Line:
    """The socket of a request, which another thread may shut."""

    def __init__(self) -> None:
        self.socket: socket.socket | None = None
        self.hung_up = False

    def hang_up(self) -> None:
        self.hung_up = True
        if self.socket is not None:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)


def _connection(kind: type[http.client.HTTPConnection], line: _Line) -> Any:
    class Connection(kind):  # type: ignore[valid-type, misc]
        def connect(self) -> None:
            super().connect()
            line.socket = self.sock

    return Connection


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, line: _Line) -> None:
        super().__init__()
        self.line = line

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_connection(http.client.HTTPConnection, self.line), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_connection(http.client.HTTPSConnection, self.line), request)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None
