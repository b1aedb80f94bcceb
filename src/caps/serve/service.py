"""The state of a running service: its files, queues, threads and what it keeps in memory."""

import copy
import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from caps.estimator import CAPS
from caps.serve.cache import Cache
from caps.serve.claim import Claim
from caps.serve.files import DATA, ModelFolder, Record, SeriesFolder
from caps.serve.fits import Fits
from caps.serve.found import Found
from caps.serve.lines import Axis
from caps.serve.monitoring import Monitor
from caps.serve.pools import Pool
from caps.serve.refusals import Refusal, taken
from caps.serve.settings import Settings
from caps.serve.uploads import read_upload

log = logging.getLogger("caps.serve")

MODELS_KEPT, SERIES_KEPT, ANALYSES_KEPT, BUDGETS_KEPT = 32, 8, 6, 12
PROBE = 4096  # bytes
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Sought:
    """A fit and the series it is to look at."""

    name: str
    record: Record
    series: str
    facts: Mapping[str, Any]  # of the series

    @property
    def key(self) -> tuple[str, ...]:
        """Another fit or another file of the same name is something else."""
        return self.name, self.record.fit, self.series, str(self.facts["uploaded"])


class Service:
    """Everything endpoints need."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.claim = Claim(settings.folder)
        self.monitor = Monitor()
        self.series = SeriesFolder(settings.folder / "series", settings.stored)
        self.models = ModelFolder(settings.folder / "models", settings.stored)
        self.scorers = Pool(
            "scores", settings.scorers, settings.waiting_scores, settings.answer_seconds
        )
        waiting, seconds = settings.waiting_views, settings.view_seconds
        self.viewers = Pool("views", settings.viewers, waiting, seconds)
        self.long_viewers = Pool("views of large series", 1, waiting, seconds)
        self.fits = Fits(settings, self.models, self.series, self._fit_ended)
        self.ready = False
        self._loaded = Cache[CAPS](MODELS_KEPT)
        self._axes = Cache[Axis](SERIES_KEPT)
        self._analysed = Cache[Found](ANALYSES_KEPT)
        self._found = Cache[Found](BUDGETS_KEPT)
        self._watch()

    def start(self) -> None:
        """Put the directory in order and begin to work; needs a running event loop."""
        self.claim.take()
        self.series.clean()
        self.models.recover()
        self.fits.start()
        self.ready = True

    async def stop(self) -> None:
        """Stop working; finished fits are kept."""
        self.ready = False
        await self.fits.stop()
        self.scorers.stop()
        self.viewers.stop()
        self.long_viewers.stop()
        self.claim.release()

    def check_disk(self) -> None:
        """Refuse to be ready when the next write would fail."""
        folder, spare = self.settings.folder, self.settings.spare_bytes
        try:
            free = shutil.disk_usage(folder).free
            with tempfile.TemporaryFile(dir=folder) as probe:  # quotas and read-only disks
                probe.write(b"x" * PROBE)
                probe.flush()
        except OSError as error:
            raise Refusal(
                503, f"the service cannot write ({error.strerror})", "look at its disk"
            ) from None
        if free < spare:
            raise Refusal(
                503, f"the disk has {free / 1e6:.0f} MB left", f"keep {spare / 1e6:.0f} MB free"
            )

    def loaded(self, name: str) -> CAPS:
        """The model in force under the budget of its fit; shared by threads, so never changed."""
        folder = self.models.model(name, self.models.ready(name))
        pretrained = self.settings.pretrained
        return self._loaded.get(folder, lambda: CAPS.load(folder, pretrained=pretrained))

    def model(self, name: str, alarms: str | None = None) -> CAPS:
        """The model in force under an alarm budget, its own if none is given."""
        loaded, alarms = self.loaded(name), alarms or self.models.ready(name).alarms
        return loaded if alarms is None else copy.copy(loaded).set_alarms(alarms)

    def axis(self, name: str) -> Axis:
        """An uploaded series."""
        facts = self.series.facts(name)
        path = self.series.existing(name) / DATA
        return self._axes.get(
            (name, facts["uploaded"]),
            lambda: Axis(read_upload(path, facts["file"], facts["options"])),
        )

    async def query_series(self, name: str, work: Callable[[Axis], Answer]) -> Answer:
        """Do something with an uploaded series."""
        facts = self.series.facts(name)
        quick = self._axes.has((name, facts["uploaded"]))
        return await self._viewers(facts, quick).run(lambda: work(self.axis(name)))

    async def query(
        self,
        name: str,
        series: str | None,
        work: Callable[[Found], Answer],
        *,
        alarms: str | None = None,
        fit: str | None = None,
        quick: bool = True,
    ) -> Answer:
        """Do something with what a model finds in a stored series under an alarm budget.

        `quick` says that it takes but a moment once the events are known.
        """
        sought = self._sought(name, series, fit)
        alarms = alarms or self.budget(name)
        pool = self._viewers(sought.facts, quick and self._found.has((sought.key, alarms)))
        return await pool.run(lambda: work(self._under(sought, alarms)))

    async def draw(self, name: str, series: str | None, work: Callable[[Found], Answer]) -> Answer:
        """Do something that needs scores, but no events."""
        sought = self._sought(name, series)
        pool = self._viewers(sought.facts, self._analysed.has(sought.key))
        return await pool.run(lambda: work(self._analysis(sought)))

    def budget(self, name: str) -> str:
        """The alarm budget of a model."""
        record = self.models.ready(name)
        return record.alarms or str(record.request["alarms"])

    def _viewers(self, facts: Mapping[str, Any], quick: bool) -> Pool:
        """Who waits for a large series does not keep those waiting who look at something else."""
        large = facts["rows"] * len(facts["channels"]) > self.settings.large_values
        return self.long_viewers if large and not quick else self.viewers

    def _sought(self, name: str, series: str | None, fit: str | None = None) -> Sought:
        record = self.models.ready(name)
        if fit is not None and fit != record.fit:
            raise taken(f"the model {name!r} was fitted again", "ask for its events again")
        named = series or str(record.request["series"])
        return Sought(name, record, named, self.series.facts(named))

    def _analysis(self, sought: Sought) -> Found:
        """What the fit in force finds, under the budget of the fit."""
        record, axis, model = sought.record, self.axis(sought.series), self.loaded(sought.name)
        facts = self.models.facts(sought.name, record)
        first, last = facts["train"]
        known = sought.series == record.request["series"] and last <= len(axis.series)

        def analyse() -> Found:
            analysis = model.analyze(axis.series)
            self.monitor.rows.inc(len(axis.series))
            return Found(
                model=model,
                analysis=analysis,
                axis=axis,
                fit=record.fit,
                train=(first, last) if known else None,
                notes=tuple(facts["notes"]),
                seconds=facts["seconds"],
            )

        return self._analysed.get(sought.key, analyse)

    def _under(self, sought: Sought, alarms: str) -> Found:
        model = self.model(sought.name, alarms)
        return self._found.get((sought.key, alarms), lambda: self._analysis(sought).under(model))

    def _fit_ended(self, outcome: str) -> None:
        self.monitor.fits.labels(outcome).inc()

    def _watch(self) -> None:
        watch = self.monitor.watch
        watch("caps_models", "Models in the directory.", lambda: len(self.models.names()))
        watch("caps_series", "Series in the directory.", lambda: len(self.series.names()))
        watch("caps_fits_waiting", "Fits that wait.", lambda: self.fits.waiting)
        watch(
            "caps_fits_running",
            "Fits that run.",
            lambda: len(self.fits.active) - self.fits.waiting,
        )
        watch("caps_scores_under_way", "Requests for scores.", lambda: len(self.scorers.under_way))
