"""A small HTTP server beside a watch: metrics for scraping, and whether it is well."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6

from caps.errors import InputError
from caps.watch.figures import Figures

METRICS, HEALTH = "/metrics", "/-/healthy"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
PATIENCE = 10.0  # seconds for a request


class Listener:
    """Answers from threads of its own until it is closed."""

    def __init__(self, address: tuple[str, int], figures: Figures) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == METRICS:
                    self.answer(200, TEXT, figures.text())
                elif path == HEALTH:
                    health = figures.health()
                    body = json.dumps(health).encode() + b"\n"
                    self.answer(200 if health["ok"] else 503, "application/json", body)
                else:
                    self.answer(404, TEXT, f"see {METRICS} and {HEALTH}\n".encode())

            def answer(self, code: int, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # whoever asked did not wait
                    self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing: it would be told every few seconds."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            address_family = AF_INET6 if ":" in address[0] else ThreadingHTTPServer.address_family

        try:
            self.server = Server(address, Handler)
        except OSError as error:
            raise InputError(
                f"nothing can listen on {address[0]}:{address[1]} ({error})",
                "give --listen a free port",
            ) from None
        self.port = int(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, name="caps-metrics", daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self.server.shutdown()
        self.server.server_close()
