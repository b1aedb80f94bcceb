"""Servers that answer as Prometheus and Alertmanager do, from the memory of a test."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

Value = Callable[[int], float | None]  # of a moment in seconds
LIMIT = 11_000  # points of a series in an answer of Prometheus


class SmallServer:
    """Answers POST by `respond`, which is given path, headers and body."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.down = False
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): text for name, text in self.headers.items()}
                owner.asked.append((self.path, headers, body))
                code, answer = (503, b"") if owner.down else owner.respond(self.path, body)
                self.send_response(code)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def respond(self, path: str, body: bytes) -> tuple[int, bytes]:
        return 200, b""

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class SmallPrometheus(SmallServer):
    """Series by query: labels and a value of every moment, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.series: dict[str, list[tuple[dict[str, str], Value]]] = {}
        self.most_samples = 50_000_000

    def respond(self, path: str, body: bytes) -> tuple[int, bytes]:
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        points = int((end - start) / step) + 1
        found = self.series.get(asked["query"])
        if found is None:
            return 400, _error("bad_data", "parse error: unexpected end of input")
        if points > LIMIT:
            text = "exceeded maximum resolution of 11,000 points per timeseries."
            return 400, _error("bad_data", text)
        if points * len(found) > self.most_samples:
            return 422, _error("execution", "query processing would load too many samples")
        result = []
        for labels, value in found:
            moments = [start + k * step for k in range(points)]
            pairs = [[moment, value(int(moment))] for moment in moments]
            values = [[moment, str(each)] for moment, each in pairs if each is not None]
            if values:
                result.append({"metric": labels, "values": values})
        data = {"resultType": "matrix", "result": result}
        return 200, json.dumps({"status": "success", "data": data}).encode()


class SmallAlertmanager(SmallServer):
    """Keeps every alert that it is sent."""

    @property
    def alerts(self) -> list[dict[str, Any]]:
        return [alert for _, _, body in list(self.asked) for alert in json.loads(body)]


def _error(kind: str, text: str) -> bytes:
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


@contextmanager
def running(server: SmallServer) -> Iterator[Any]:
    try:
        yield server
    finally:
        server.close()
