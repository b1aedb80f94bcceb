"""Prometheus and Alertmanager of Debian's packages on loopback, and an exporter."""

import json
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from patience import wait_until

NEEDED = ("prometheus", "promtool", "prometheus-alertmanager")
SCRAPE = "100ms"
HEAD = "24h"  # of Prometheus: rows of the last twelve hours can still be scraped


def need_servers() -> None:
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if absent:
        pytest.skip(f"no {', '.join(absent)}: apt-get install prometheus prometheus-alertmanager")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str) -> bytes | None:
    """The answer; None while there is none."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bytes(answer.read())
    except OSError:
        return None


class Web:
    """A web server of the test: what it was sent, and what it answers."""

    def __init__(self) -> None:
        self.page, self.bodies = b"", []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(web.page)

            def do_POST(self) -> None:
                web.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(b"")

            def answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # Prometheus did not wait
                    self.wfile.write(body)

            def log_message(self, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Program:
    """A process that can be killed and started again."""

    def __init__(self, command: list[str], log: Path, ready: str) -> None:
        self.command, self.log, self.ready = command, log, ready
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        wait_until(self._is_up, f"{self.command[0]} is up", every=0.05)

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        return get(self.ready) is not None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class PrometheusServer(Program):
    def __init__(self, folder: Path, targets: dict[str, str], history: str) -> None:
        (folder / "history.om").write_text(history)
        data = folder / "data"
        blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        subprocess.run(
            [*blocks, str(folder / "history.om"), str(data)], check=True, capture_output=True
        )
        jobs = [
            {
                "job_name": job,
                "static_configs": [{"targets": [target], "labels": {"instance": "shop"}}],
            }
            for job, target in targets.items()
        ]
        times = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE}
        config = folder / "prometheus.yml"  # JSON is YAML
        config.write_text(json.dumps({"global": times, "scrape_configs": jobs}))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
            f"--storage.tsdb.min-block-duration={HEAD}",
            f"--storage.tsdb.max-block-duration={HEAD}",
        ]  # fmt: skip
        super().__init__(command, folder / "prometheus.log", f"{self.url}/-/ready")

    def query(self, expression: str, moment: float | None = None) -> list[dict[str, Any]]:
        asked = {"query": expression} | ({} if moment is None else {"time": str(moment)})
        answer = get(f"{self.url}/api/v1/query?{urllib.parse.urlencode(asked)}")
        return [] if answer is None else json.loads(answer)["data"]["result"]


class AlertmanagerServer(Program):
    def __init__(self, folder: Path, receiver: str) -> None:
        hook = {"url": f"http://{receiver}/", "send_resolved": True}
        route = {
            "receiver": "test", "group_by": ["..."], "group_wait": "100ms",
            "group_interval": "200ms", "repeat_interval": "100h",
        }  # fmt: skip
        config = folder / "alertmanager.yml"
        receivers = [{"name": "test", "webhook_configs": [hook]}]
        config.write_text(json.dumps({"route": route, "receivers": receivers}))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [
            "prometheus-alertmanager", f"--config.file={config}", f"--storage.path={folder / 'am'}",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
            "--data.maintenance-interval=200ms", "--log.level=warn",
        ]  # fmt: skip
        super().__init__(command, folder / "alertmanager.log", f"{self.url}/-/ready")


def openmetrics(name: str, labels: str, rows: Iterable[tuple[float, float]]) -> str:
    """History for promtool: rows of a time in seconds and a value."""
    lines = [f"{name}{labels} {value:.6f} {moment:.0f}" for moment, value in rows]
    return "\n".join([f"# TYPE {name} gauge", *lines, "# EOF", ""])


def exposition(name: str, labels: str, rows: Iterable[tuple[float, float]]) -> bytes:
    """What an exporter serves: the newest rows with their own times."""
    lines = [f"{name}{labels} {value:.6f} {moment * 1000:.0f}" for moment, value in rows]
    return "\n".join([f"# TYPE {name} gauge", *lines, ""]).encode()
