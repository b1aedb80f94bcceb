"""Alerts over HTTP: a bounded queue, retried with growing pauses until they arrive."""

import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from caps.errors import InputError

Alert = Mapping[str, Any]

MOST = 1000  # alerts that wait; the oldest give way
TIMEOUT = 10.0  # seconds for an answer
LATER = {408, 425, 429}  # refusals that ask to come again


class Webhook:
    """Sends alerts as JSON by POST, in order, from a thread of its own.

    Every alert has an `id`, sent as `Idempotency-Key` too: if the process is killed right after an
    answer, the alert is sent once more with the same id. `arrived` is called with each id that
    need not be sent again.
    """

    def __init__(
        self, url: str, *, most: int = MOST, first_pause: float = 0.5, longest_pause: float = 60.0
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"the webhook {url!r} is no web address", "give http:// or https://")
        self.url, self.most = url, most
        self.first_pause, self.longest_pause = first_pause, longest_pause
        self.delivered = self.refused = self.dropped = 0
        self.arrived: Callable[[str], None] = lambda name: None
        self._waiting: deque[Alert] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="caps-webhook", daemon=True)
        self._thread.start()

    def send(self, alert: Alert) -> None:
        """Put an alert into the queue; never waits."""
        with self._changed:
            if len(self._waiting) >= self.most:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(alert)
            self._changed.notify_all()

    def pending(self) -> list[Alert]:
        """The alerts that have not arrived yet."""
        with self._changed:
            return list(self._waiting)

    def close(self, patience: float) -> list[Alert]:
        """Wait for the queue to empty, but not for ever; what has not arrived."""
        deadline = time.monotonic() + patience
        with self._changed:
            while self._waiting and not self._closed and time.monotonic() < deadline:
                self._changed.wait(deadline - time.monotonic())
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
            if problem is None or not again:
                self.arrived(str(alert["id"]))
            with self._changed:
                if problem is not None and again:
                    print(f"webhook: {problem}, again in {pause:g} s", file=sys.stderr, flush=True)
                    self._changed.wait_for(lambda: self._closed, pause)
                    pause = min(2 * pause, self.longest_pause)
                    continue
                pause = self.first_pause
                if self._waiting and self._waiting[0] is alert:
                    self._waiting.popleft()
                if problem is None:
                    self.delivered += 1
                else:
                    print(f"webhook: {problem}, given up", file=sys.stderr, flush=True)
                    self.refused += 1
                self._changed.notify_all()

    def _post(self, alert: Alert) -> tuple[str | None, bool]:
        """What went wrong, if anything, and whether to try again."""
        request = urllib.request.Request(
            self.url,
            data=json.dumps(alert, allow_nan=False).encode(),
            headers={
                "Content-Type": "application/json",
                "Idempotency-Key": str(alert["id"]).encode("ascii", "replace").decode(),
            },
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT):
                return None, False
        except urllib.error.HTTPError as error:
            with error:
                return f"it answers {error.code}", error.code >= 500 or error.code in LATER
        except (OSError, ValueError) as error:  # no connection, no answer, no sense
            return f"it cannot be reached ({error})", True
        except Exception as error:  # http.client raises its own kinds on broken answers
            return f"its answer cannot be read ({error})", True
