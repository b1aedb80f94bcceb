"""A thousand series by the minute, and a server that answers for them as Prometheus does.

Run by `watch_load` as a process of its own: `python -m tools.deployment.minute_series SERIES PORT`.
It takes alerts, too, as Alertmanager does, and counts them.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import numpy as np
import pandas as pd

ORIGIN = 1_704_067_200  # 2024-01-01, in seconds
TRAIN = 2000  # minutes before a watch begins
KINDS = 8  # of different seasons
STEP = 60
BURST = 20  # minutes that an incident lasts
BETWEEN = 720  # minutes between the incidents of a series: two a day


def value(series: int, row: int) -> float:
    """Of a minute: the same whenever it is asked for."""
    kind = series % KINDS
    day = 2 * np.pi * (row + 180 * kind) / 1440
    usual = 50 + 10 * np.sin(day) + (3 + kind) * np.sin(2 * np.pi * row / (40 + 11 * kind))
    noise = np.random.Generator(np.random.Philox(key=[series, row])).standard_normal()
    since = (row - TRAIN - 37 * series) % BETWEEN
    burst = 25.0 if series % 10 == 0 and row >= TRAIN and since < BURST else 0.0
    return float(usual + noise + burst)


def name(series: int) -> str:
    """As a label."""
    return f"s{series:04d}"


def training(kind: int) -> pd.DataFrame:
    """What a model of a kind learns from."""
    rows = np.arange(TRAIN)
    times = pd.to_datetime(ORIGIN + STEP * rows, unit="s")
    return pd.DataFrame({"time": times, "value": [value(kind, int(row)) for row in rows]})


class Handler(BaseHTTPRequestHandler):
    """Answers range queries of one step or many, and takes alerts."""

    series = 0
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self._matrix(body) if self.path.endswith("query_range") else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _matrix(self, body: bytes) -> bytes:
        asked = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        first, last = (round(float(asked[key])) for key in ("start", "end"))
        moments = range(first, last + 1, STEP)
        result = [
            {
                "metric": {"__name__": "load", "host": name(k)},
                "values": [[at, str(value(k, (at - ORIGIN) // STEP))] for at in moments],
            }
            for k in range(self.series)
        ]
        data = {"resultType": "matrix", "result": result}
        return json.dumps({"status": "success", "data": data}).encode()

    def log_message(self, *arguments: object) -> None: ...


if __name__ == "__main__":
    Handler.series, port = map(int, sys.argv[1:])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
