"""One HTTP request, with one limit for all of it."""

import base64
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from caps.errors import InputError

MOST_TOLD = 65_536  # bytes of an answer that refuses


class Unanswered(Exception):
    """No answer came back, or none that can be read."""


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, code: int, location: str | None, body: bytes) -> None:
        super().__init__(f"it answers {code}")
        self.code, self.location, self.body = code, location, body


def post(url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> bytes:
    """The answer; raises `Unanswered` or `Refused`. Redirects are not followed."""
    clean, own = _without_password(url)
    request = urllib.request.Request(clean, data=body, headers={**own, **headers})
    line = _Line()
    # The timeout of a socket bounds each wait, and an answer may trickle in for ever.
    limit = threading.Timer(timeout, line.hang_up)
    limit.daemon = True
    limit.start()
    try:
        opener = urllib.request.build_opener(line, _NoRedirect())
        with opener.open(request, timeout=timeout) as answer:
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        with error, suppress(OSError):
            raise Refused(
                error.code, error.headers.get("Location"), error.read(MOST_TOLD)
            ) from None
        raise Refused(error.code, None, b"") from None
    except Exception as error:  # http.client raises its own kinds on broken answers
        if line.hung_up:
            raise Unanswered(f"it did not answer within {timeout:g} s") from None
        if isinstance(error, OSError | ValueError):  # no connection, no sense
            raise Unanswered(f"it cannot be reached ({error})") from None
        raise Unanswered(f"its answer cannot be read ({error})") from None
    finally:
        limit.cancel()


def check_address(url: str, what: str) -> str:
    """Refuse what is no web address."""
    if not url.startswith(("http://", "https://")) or not urlsplit(url).netloc:
        raise InputError(f"{what} {url!r} is no web address", "give http:// or https://")
    return url


def shown_address(url: str) -> str:
    """An address without its password, for messages and labels.

    >>> shown_address("https://caps:secret@prometheus.example:9090/base?x=1")
    'https://prometheus.example:9090/base'
    """
    parts = urlsplit(_without_password(url)[0])
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _without_password(url: str) -> tuple[str, dict[str, str]]:
    """The address without name and password, which go into a header of their own."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, {}
    user, _, host = parts.netloc.rpartition("@")
    token = base64.b64encode(unquote(user).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {token}"}


class _Line(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens the connection of a request, which another thread may shut."""

    connection: Any = None
    hung_up = False

    def do_open(self, http_class: Any, req: urllib.request.Request, **options: Any) -> Any:
        def connection(*where: Any, **how: Any) -> Any:
            self.connection = http_class(*where, **how)
            return self.connection

        return super().do_open(connection, req, **options)

    def hang_up(self) -> None:
        self.hung_up = True
        with suppress(AttributeError, OSError):  # not connected yet, or not any more
            self.connection.sock.shutdown(socket.SHUT_RDWR)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None
