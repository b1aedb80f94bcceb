"""Rows as they come: arrivals, events that open and close, drift, and the state on disk."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.stream.arrivals import Counts as Counts
    from caps.stream.config import (
        ArrivalConfig as ArrivalConfig,
        DriftConfig as DriftConfig,
        StreamConfig as StreamConfig,
    )
    from caps.stream.drift import DriftWatch as DriftWatch
    from caps.stream.storage import SavedStreams as SavedStreams, save_streams as save_streams
    from caps.stream.stream import Stream as Stream, Update as Update
    from caps.stream.tracker import EventChange as EventChange

__getattr__ = on_first_use(__name__)
