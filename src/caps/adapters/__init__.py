"""CAPS as a detector of aeon and of sktime, each imported when it is asked for."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.adapters.for_aeon import AeonDetector as AeonDetector
    from caps.adapters.for_sktime import SktimeDetector as SktimeDetector

__getattr__ = on_first_use(__name__)
