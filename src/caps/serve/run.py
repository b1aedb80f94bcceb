"""Running the service until it is told to stop."""

import logging
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from caps.errors import InputError
from caps.serve.claim import claimed
from caps.serve.settings import Settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

KEPT_OPEN = 30  # seconds a connection stays open for the next request
MOST_BACKLOG = 2048


def run_service(settings: Settings, announce: Callable[[str], None] = print) -> None:
    """Serve until a signal arrives; requests and a nearly finished fit may end in peace.

    `announce` is told the address once the directory and the port are the service's own.
    """
    try:
        # Extras, and a second that a refusal does without.
        from caps.serve.app import create_app
    except ImportError as error:
        raise InputError(
            f"the service needs {error.name}", "pip install 'caps-tsad[serve]'"
        ) from None
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    app = create_app(settings, held=True)
    # Both before anything is cleaned up: the files of another service must not be touched.
    with claimed(settings.folder), listener(settings.host, settings.port) as door:
        announce(address(settings.host, door.getsockname()[1]))
        server(app, settings).run(sockets=[door])


def server(app: "FastAPI", settings: Settings) -> "uvicorn.Server":
    """The server with its limits on connections."""
    # An extra, and a tenth of a second that a refusal does without.
    import uvicorn

    from caps.serve.connections import connections

    config = uvicorn.Config(
        app,
        http=connections(settings.head_seconds, settings.waiting_connections),
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEPT_OPEN,
        timeout_graceful_shutdown=int(settings.grace_seconds),
    )
    return uvicorn.Server(config)


def listener(host: str, port: int) -> socket.socket:
    """A socket bound to the address; 0 is any free port."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=MOST_BACKLOG)
    except OSError as error:
        raise InputError(
            f"{host} port {port} cannot be listened on ({error.strerror})",
            "name another --port or --host, or stop what listens there",
        ) from None


def address(host: str, port: int) -> str:
    """The address as a browser takes it."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
