"""Engines refuse what they cannot do, before any work."""

import pytest

from caps.errors import InputError
from caps.fleet import LocalEngine
from caps.fleet.engines import open_engine


def test_a_ray_address_needs_ray() -> None:
    with pytest.raises(InputError, match="--engine ray"):
        open_engine("local", ray_address="127.0.0.1:6379")


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="1 or more"):
        LocalEngine(0)
