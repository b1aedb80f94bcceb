"""A watch as a configuration says it, begun anew when the file changes, with nothing lost."""

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

import caps
from caps.errors import CapsError, InputError
from caps.fitted_model import FittedModel
from caps.planned import Planned
from caps.series import Series
from caps.watch.alertmanager import Alertmanager
from caps.watch.alerts import Chosen, slack
from caps.watch.config import HISTORY, SinkConfig, SourceConfig, WatchConfig
from caps.watch.config_file import read_config
from caps.watch.following import Lines
from caps.watch.models import Followed, ModelOf, Models
from caps.watch.prometheus import Prometheus
from caps.watch.records import Records
from caps.watch.refits import Refitter, RunRound
from caps.watch.sinks import Sink
from caps.watch.sources import LineSource, Polling, Source
from caps.watch.state import WatchState
from caps.watch.telling import Line
from caps.watch.watcher import Watcher
from caps.watch.webhook import Webhook

if TYPE_CHECKING:
    from caps.watch.figures import Figures


class Watch:
    """Runs watchers by a configuration that may change."""

    def __init__(
        self,
        config: WatchConfig,
        models: Models,
        tell: Callable[[str], None],
        *,
        run_round: RunRound | None = None,  # of refits; None: nothing is fitted again
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config, self.models, self.tell, self.run_round = config, models, tell, run_round
        self.clock, self.sleep = clock, sleep  # others where time is simulated
        self.figures: Figures | None = None
        self.asked: list[int] = []  # signals that end the watch
        self.hangups = 0
        self.own, self.files = Followed(), Followed()  # the configuration, and all that it names
        if config.path is not None:
            self.own.follow(config.path)
        self.loaded, self.planned = self._loaded(config), self._planned(config)
        self.following: WatchConfig | None = None  # takes over at the next turn

    def run(self) -> Line:
        """Watch until the input ends or a signal asks for it; returns the counts."""
        with ExitStack() as stack:
            stack.enter_context(self._signals())
            if self.config.listen is not None:
                # prometheus-client: 0.03 s that a watch without a page does without.
                from caps.watch.figures import Figures, Listener

                self.figures = Figures(caps.__version__, self.clock)
                stack.callback(Listener(self.config.listen, self.figures).close)
            state = None if self.config.state is None else WatchState(self.config.state)
            while True:
                refitter = None  # nothing is fitted again
                if self.run_round is not None and self.config.refits:
                    refitter = Refitter(self.config, self.run_round, self.clock)
                watcher = self._watcher(state, refitter)
                if self.figures is not None:
                    self.figures.watcher = watcher
                    self.figures.refits = {} if refitter is None else refitter.counts
                try:
                    summary = watcher.run(partial(self._over, watcher, stack))
                finally:
                    if refitter is not None:
                        refitter.close()
                if self.asked or self.following is None:
                    return summary
                self.config, self.following = self.following, None
                assert watcher.state is not None
                state = WatchState(watcher.state.folder)
                print("the configuration has changed and is in force now", file=sys.stderr)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def end(number: int, frame: FrameType | None) -> None:
            self.asked.append(number)

        def again(number: int, frame: FrameType | None) -> None:
            self.hangups += 1

        before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
        if self.config.path is not None:
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, again)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _over(self, watcher: Watcher, stack: ExitStack) -> bool:
        """Whether a signal ends the watch, or another configuration takes over.

        A bad one leaves this one in force.
        """
        if self.asked:
            return True
        if self.config.path is None or self.following is not None:
            return self.following is not None
        changed = self.own.changed(now=self.hangups > 0)
        if not self.hangups and not (changed and self.config.path.exists()):
            return False  # also between two versions of it
        self.hangups = 0
        try:
            config = read_config(self.config.path)
            self._check_change(config)
            loaded = self.loaded if config.models == self.config.models else self._loaded(config)
            planned = self._planned(config)
        except CapsError as error:
            self._complain(f"{error.problem}: {error.remedy}")
            return False
        if self.figures is not None:
            self.figures.config_problem = None
        if watcher.state is None:  # what is known so far goes on in the next watcher
            watcher.state = WatchState(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        self.loaded, self.planned, self.following = loaded, planned, config
        return True

    def _check_change(self, config: WatchConfig) -> None:
        for name in ("state", "listen"):
            if getattr(config, name) != getattr(self.config, name):
                raise InputError(f"{name} cannot change while a watch runs", "start it anew")
        if any(each.file == "-" for each in config.sources):
            raise InputError("standard input cannot be opened again", "watch a file, or start anew")

    def _complain(self, problem: str) -> None:
        print(f"the configuration stays as it was: {problem}", file=sys.stderr, flush=True)
        if self.figures is not None:
            self.figures.config_problem = problem

    def _loaded(self, config: WatchConfig) -> tuple[FittedModel, ModelOf]:
        if config.models is None:
            raise InputError("no model is named", "name a folder written by caps fit")
        several = any(each.prometheus or each.id for each in config.sources)
        return self.models(config.models, several, self.files)

    def _planned(self, config: WatchConfig) -> Planned:
        if config.planned_file is None:
            return config.planned
        self.files.follow(config.planned_file)
        return Planned.read(config.planned_file)

    def _files_changed(self) -> bool:
        """Whether models, feedback or planned events are others than at the last look."""
        if not self.files.changed():
            return False
        try:
            self.planned = self._planned(self.config)
        except CapsError as error:
            problem = f"what is planned stays as it was: {error.problem}: {error.remedy}"
            print(problem, file=sys.stderr, flush=True)
        return True

    def _model_of(self, name: str) -> FittedModel | None:
        found = self.loaded[1](name)
        if found is None or not self.planned:
            return found
        return copy(found).set_planned(self.planned, name)

    def _is_planned(self, name: str, moment: int) -> bool:
        at = np.datetime64(moment, "ns")
        return self.planned.covering(at, at, name) is not None

    def _watcher(self, state: WatchState | None, refitter: Refitter | None) -> Watcher:
        config, (one, _) = self.config, self.loaded
        return Watcher(
            self._model_of,
            [source_of(each, one, self.clock, self.sleep) for each in config.sources],
            self.tell,
            sinks=[sink_of(each, kept=state is not None) for each in config.sinks],
            state=state,
            config=config,
            changed=self._files_changed,
            refits=None if refitter is None else refitter.turn,
            planned=self._is_planned,
            clock=self.clock,
        )


def source_of(
    config: SourceConfig,
    one: FittedModel,
    clock: Callable[[], float],
    sleep: Callable[[float], None] = time.sleep,
) -> Source:
    """The source that a configuration describes, for models like this one."""
    if config.prometheus is not None:
        return Polling(
            prometheus_of(config),
            name=config.name or "prometheus",
            prefix=f"{config.name}/" if config.name else "",
            delay=config.delay,
            since=config.since or 0.0,
            clock=clock,
            sleep=sleep,
        )
    fitted, named = one.fitted_, config.time
    if named is None:
        named = getattr(one, "time", None)  # an exported model remembers none
    lines = Lines(None if config.file == "-" else Path(config.file or ""), follow=config.follow)
    records = Records(
        fitted.names,
        reading=config.reading.over(getattr(one, "reading", config.reading)),
        time=named if isinstance(named, str) else None,
        series=config.id,
        timed=fitted.step is not None,
    )
    return LineSource(lines, records, name=config.name or "input")


def sink_of(config: SinkConfig, *, kept: bool) -> Sink:
    """The sink that a configuration describes; `kept`: what waits is saved."""
    choice = Chosen(config.least_severity, config.match)
    if config.kind == "alertmanager":
        given: dict[str, Any] = {"resend": config.resend, "settle": config.settle}
        times = {name: value for name, value in given.items() if value is not None}
        return Alertmanager(
            config.url, name=config.name, choice=choice, labels=config.labels, kept=kept, **times
        )
    if config.kind == "slack":
        return Webhook(config.url, name=config.name, choice=choice, shape=slack)
    return Webhook(config.url, name=config.name, choice=choice, secret=config.secret)


def prometheus_of(config: SourceConfig) -> Prometheus:
    """The server of a source."""
    lookback = None if config.lookback is None else round(config.lookback * 1000)
    return Prometheus(
        config.prometheus or "", config.queries, round(config.step * 1000), lookback=lookback
    )


def history_of(config: SourceConfig, now: float) -> dict[str, Series]:
    """The past of every series of a Prometheus source, by its id."""
    prometheus = prometheus_of(config)
    last = prometheus.floor(now - config.delay)
    first = prometheus.floor(now - (HISTORY if config.since is None else config.since))
    found = prometheus.history(first, last)
    if not found:
        raise InputError(
            f"the query gives nothing from {_date(first)} to {_date(last)}",
            "look at it in Prometheus' own page, and at --since",
        )
    prefix = f"{config.name}/" if config.name else ""
    return {prefix + name: series for name, series in found.items()}


def _date(milliseconds: int) -> str:
    return str(np.datetime64(milliseconds, "ms").astype("datetime64[s]"))
