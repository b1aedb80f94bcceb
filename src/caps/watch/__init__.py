"""`caps watch`: rows of a growing file, of standard input or of Prometheus in, alerts out."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.watch.alertmanager import Alertmanager as Alertmanager
    from caps.watch.alerts import Chosen as Chosen, slack as slack
    from caps.watch.config import (
        Refits as Refits,
        SinkConfig as SinkConfig,
        SourceConfig as SourceConfig,
        WatchConfig as WatchConfig,
        listen_address as listen_address,
        read_secret as read_secret,
        rows_or_seconds as rows_or_seconds,
        seconds_in as seconds_in,
    )
    from caps.watch.config_file import ConfigError as ConfigError, read_config as read_config
    from caps.watch.dashboard import grafana_dashboard as grafana_dashboard
    from caps.watch.following import Lines as Lines
    from caps.watch.incidents import Incidents as Incidents
    from caps.watch.models import Followed as Followed, ModelOf as ModelOf, changed_at as changed_at
    from caps.watch.prometheus import Prometheus as Prometheus, series_id as series_id
    from caps.watch.records import Records as Records
    from caps.watch.refits import RefitRound as RefitRound, RoundEnd as RoundEnd
    from caps.watch.running import Watch as Watch, history_of as history_of
    from caps.watch.sinks import Sink as Sink
    from caps.watch.sources import LineSource as LineSource, Polling as Polling, Source as Source
    from caps.watch.state import WatchState as WatchState
    from caps.watch.watcher import Watcher as Watcher
    from caps.watch.webhook import Webhook as Webhook, signature as signature

__getattr__ = on_first_use(__name__)
