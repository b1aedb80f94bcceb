"""`caps watch`: a growing file or standard input in, events and alerts out."""

from caps.watch.following import Lines
from caps.watch.incidents import Incidents
from caps.watch.records import Records
from caps.watch.state import WatchState
from caps.watch.watcher import ModelOf, Watcher
from caps.watch.webhook import Webhook
from caps.watch.written import WrittenRecords

__all__ = [
    "Incidents",
    "Lines",
    "ModelOf",
    "Records",
    "WatchState",
    "Watcher",
    "Webhook",
    "WrittenRecords",
]
