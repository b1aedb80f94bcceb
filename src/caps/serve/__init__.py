"""The HTTP service and its page: upload a series, fit, look at events, set the alarm budget."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.serve.app import create_app as create_app
    from caps.serve.run import run_service as run_service
    from caps.serve.settings import MEGABYTE as MEGABYTE, Settings as Settings

__getattr__ = on_first_use(__name__)
