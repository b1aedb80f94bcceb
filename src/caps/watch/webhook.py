"""Alerts over HTTP: a bounded queue, retried with growing pauses until they arrive."""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from caps.errors import InputError
from caps.watch.posting import post

Alert = Mapping[str, Any]

MOST = 1000  # alerts that wait; the oldest give way
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
        key = str(alert["id"]).encode("ascii", "replace").decode()
        headers = {
            "Content-Type": "application/json",
            # No control characters: an id is the user's, and a header is one line.
            "Idempotency-Key": "".join(each if each.isprintable() else "?" for each in key),
        }
        body = json.dumps(alert, allow_nan=False).encode()
        return post(self.url, body, headers, seconds=self.timeout)


def _say(what: str) -> None:
    print(f"webhook: {what}", file=sys.stderr, flush=True)
