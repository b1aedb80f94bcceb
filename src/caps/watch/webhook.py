"""Alerts over HTTP: a bounded queue, retried with growing pauses until they arrive."""

import json
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from caps.errors import InputError

Alert = Mapping[str, Any]

MOST = 1000  # alerts that wait; the oldest give way
LATER = {408, 425, 429}  # refusals that ask to come again
TIMEOUT = 10.0  # seconds for an answer, from the first byte sent to the last one read


class Webhook:
    """Sends alerts as JSON by POST, in order, from a thread of its own.

    Every alert has an `id`, sent as `Idempotency-Key` too: if the process is killed right after an
    answer, the alert is sent once more with the same id. `arrived` is called with each id that
    need not be sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        most: int = MOST,
        first_pause: float = 0.5,
        longest_pause: float = 60.0,
        timeout: float = TIMEOUT,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"the webhook {url!r} is no web address", "give http:// or https://")
        self.url, self.most, self.timeout = url, most, timeout
        self.first_pause, self.longest_pause = first_pause, longest_pause
        self.delivered = self.refused = self.dropped = self.tries = 0
        self.arrived: Callable[[str], None] = lambda name: None
        self._waiting: deque[Alert] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="caps-webhook", daemon=True)
        self._thread.start()

    def send(self, alert: Alert) -> None:
        """Put an alert into the queue; never waits."""
        with self._changed:
            full = len(self._waiting) >= self.most
            if full:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(alert)
            self._changed.notify_all()
        if full and self.dropped == 1:
            _say(f"more than {self.most} alerts wait, the oldest give way")

    def pending(self) -> list[Alert]:
        """The alerts that have not arrived yet."""
        with self._changed:
            return list(self._waiting)

    def close(self, patience: float, hurry: Callable[[], bool] = lambda: False) -> list[Alert]:
        """Wait as long as one alert after the other arrives; what has not arrived.

        `patience` is for each of them; `hurry` ends the wait at once.
        """
        with self._changed:
            left, deadline = len(self._waiting), time.monotonic() + patience
            while self._waiting and not self._closed and not hurry():
                now = time.monotonic()
                if len(self._waiting) < left:
                    left, deadline = len(self._waiting), now + patience
                if now >= deadline:
                    break
                self._changed.wait(min(deadline - now, 0.25))
            self._closed = True
            self._changed.notify_all()
            return list(self._waiting)

    def _work(self) -> None:
        pause = self.first_pause
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                alert = self._waiting[0]
            problem, again = self._post(alert)
            self.tries += 1
            if problem is not None:
                _say(f"{problem}, " + (f"again in {pause:g} s" if again else "given up"))
            if problem is not None and again:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, pause)
                pause = min(2 * pause, self.longest_pause)
                continue
            pause = self.first_pause
            self.arrived(str(alert["id"]))
            with self._changed:
                if self._waiting and self._waiting[0] is alert:
                    self._waiting.popleft()
                self.delivered += problem is None
                self.refused += problem is not None
                self._changed.notify_all()

    def _post(self, alert: Alert) -> tuple[str | None, bool]:
        """Send it; what went wrong, if anything, and whether to try again."""
        key = str(alert["id"]).encode("ascii", "replace").decode()
        headers = {
            "Content-Type": "application/json",
            # No control characters: an id is the user's, and a header is one line.
            "Idempotency-Key": "".join(each if each.isprintable() else "?" for each in key),
        }
        body = json.dumps(alert, allow_nan=False).encode()
        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")
        line = _Line()
        # The timeout of a socket bounds each wait, and an answer may trickle in for ever.
        limit = threading.Timer(self.timeout, line.hang_up)
        limit.daemon = True
        limit.start()
        try:
            opener = urllib.request.build_opener(line, _NoRedirect())
            with opener.open(request, timeout=self.timeout):
                return None, False
        except urllib.error.HTTPError as error:
            with error:
                return _refusal(error.code, error.headers.get("Location"))
        except Exception as error:  # http.client raises its own kinds on broken answers
            if line.hung_up:
                return f"it did not answer within {self.timeout:g} s", True
            if isinstance(error, OSError | ValueError):  # no connection, no sense
                return f"it cannot be reached ({error})", True
            return f"its answer cannot be read ({error})", True
        finally:
            limit.cancel()


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


def _refusal(code: int, location: str | None) -> tuple[str, bool]:
    if 300 <= code < 400:
        # Followed, a POST would become an empty GET. Kept, so that a watch with the right
        # address and the same state can still send it.
        where = f" ({location!r})" if location else ""
        return f"it answers {code}: it moved{where}, give that address to --webhook", True
    return f"it answers {code}", code >= 500 or code in LATER


def _say(what: str) -> None:
    print(f"webhook: {what}", file=sys.stderr, flush=True)
