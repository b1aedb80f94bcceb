"""Running the service until it is told to stop."""

import logging
import os
import sys

from caps.errors import InputError
from caps.serve.fits import CALM
from caps.serve.settings import Settings

MOST_CONNECTIONS = 512


def run(settings: Settings) -> None:
    """Serve until a signal arrives; requests and a nearly finished fit may end in peace."""
    for name, value in CALM.items():  # before torch is imported
        os.environ.setdefault(name, value)
    try:
        import uvicorn

        from caps.serve.app import create_app
    except ImportError as error:
        raise InputError(
            f"the service needs {error.name}", "pip install 'caps-tsad[serve]'"
        ) from None
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(settings.grace_seconds),
    )
    uvicorn.Server(config).run()
