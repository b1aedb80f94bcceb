"""The HTTP service and its page: upload a series, fit, look at events, set the alarm budget."""

from caps.serve.app import create_app
from caps.serve.settings import Settings

__all__ = ["Settings", "create_app"]
