"""Rows as they come: arrivals, events that open and close, drift, and the state on disk."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.stream.arrivals import Counts
    from caps.stream.config import ArrivalConfig, DriftConfig, StreamConfig
    from caps.stream.drift import DriftWatch
    from caps.stream.storage import SavedStreams, save_streams
    from caps.stream.stream import Stream, Update
    from caps.stream.tracker import EventChange

__all__ = [
    "ArrivalConfig",
    "Counts",
    "DriftConfig",
    "DriftWatch",
    "EventChange",
    "SavedStreams",
    "Stream",
    "StreamConfig",
    "Update",
    "save_streams",
]

__getattr__ = on_first_use(__name__)
