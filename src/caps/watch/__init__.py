"""`caps watch`: rows of a growing file, of standard input or of Prometheus in, alerts out."""

from caps.watch.alertmanager import Alertmanager
from caps.watch.alerts import Chosen, slack
from caps.watch.config import (
    Refits,
    SinkConfig,
    SourceConfig,
    WatchConfig,
    listen_address,
    read_secret,
    rows_or_seconds,
    seconds_in,
)
from caps.watch.config_file import ConfigError, read_config
from caps.watch.following import Lines
from caps.watch.incidents import Incidents
from caps.watch.models import Followed, ModelOf, changed_at
from caps.watch.prometheus import Prometheus, series_id
from caps.watch.records import Records
from caps.watch.refits import RefitRound, RoundEnd
from caps.watch.running import Watch, history_of
from caps.watch.sources import LineSource, Polling, Source
from caps.watch.state import WatchState
from caps.watch.watcher import Sink, Watcher
from caps.watch.webhook import Webhook, signature
from caps.watch.written import WrittenRecords

__all__ = [
    "Alertmanager",
    "Chosen",
    "ConfigError",
    "Followed",
    "Incidents",
    "LineSource",
    "Lines",
    "ModelOf",
    "Polling",
    "Prometheus",
    "Records",
    "RefitRound",
    "Refits",
    "RoundEnd",
    "Sink",
    "SinkConfig",
    "Source",
    "SourceConfig",
    "Watch",
    "WatchConfig",
    "WatchState",
    "Watcher",
    "Webhook",
    "WrittenRecords",
    "changed_at",
    "history_of",
    "listen_address",
    "read_config",
    "read_secret",
    "rows_or_seconds",
    "seconds_in",
    "series_id",
    "signature",
    "slack",
]
