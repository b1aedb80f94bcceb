"""Alerts over HTTP: a bounded queue, retried with growing pauses until they arrive."""

import hashlib
import hmac
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from caps.watch.alerts import Alert
from caps.watch.sinks import MOST, Sink
from caps.watch.web import Refused, Unanswered, check_address, post

LATER = {408, 425, 429}  # refusals that ask to come again
SIGNATURE = "CAPS-Signature"


@dataclass(eq=False)
class Webhook(Sink):
    """Sends alerts as JSON by POST, in order, from a thread of its own.

    Every alert has an `id`, sent as `Idempotency-Key` too: if the process is killed right after an
    answer, the alert is sent once more with the same id. With a `secret` every request is signed
    (`signature`). `shape` makes the body of an alert.
    """

    queue, longest_pause = True, 60.0

    _: KW_ONLY
    name: str = "webhook"
    secret: str | None = None
    shape: Callable[[Alert], object] = dict
    most: int = MOST

    def __post_init__(self) -> None:
        super().__post_init__()
        check_address(self.url, f"the {self.name}")
        self._waiting: deque[Alert] = deque()
        self._start()

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
            self._say(f"more than {self.most} alerts wait, the oldest give way")

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
            self.failing = problem is not None
            if problem is not None:
                self._say(f"{problem}, " + (f"again in {pause:g} s" if again else "given up"))
            if again:
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
        body = json.dumps(self.shape(alert), allow_nan=False).encode()
        if self.secret is not None:
            headers[SIGNATURE] = signature(self.secret, body, int(time.time()))
        try:
            post(self.url, body, headers, self.timeout)
            return None, False
        except Refused as refusal:
            return self._refusal(refusal.code, refusal.location)
        except Unanswered as problem:
            return str(problem), True

    def _refusal(self, code: int, location: str | None) -> tuple[str, bool]:
        if 300 <= code < 400:
            # Followed, a POST would become an empty GET. Kept, so that a watch with the right
            # address and the same state can still send it.
            where = f" ({location!r})" if location else ""
            return f"it answers {code}: it moved{where}, give that address to --webhook", True
        return f"it answers {code}", code >= 500 or code in LATER


def signature(secret: str, body: bytes, moment: int) -> str:
    """What proves that a body was sent by somebody who has the secret, at a moment since 1970.

    The receiver computes it again from the moment in `t`, compares it in constant time, and
    refuses moments that are long past.

    >>> signature("secret", b"{}", 1700000000)[:24]
    't=1700000000,v1=b8569b78'
    """
    content = str(moment).encode() + b"." + body
    return f"t={moment},v1={hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()}"
