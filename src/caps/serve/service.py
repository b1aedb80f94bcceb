"""The state of a running service: its files, queues, threads and what it keeps in memory."""

import copy
import logging
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from caps.errors import InputError
from caps.estimator import CAPS
from caps.events import AlarmChange, changed_alarms
from caps.planned import Planned
from caps.series import Series, read
from caps.serve.files import DATA, MODEL, ModelFolder, Record, SeriesFolder, StoredSeries
from caps.serve.fits import Fits
from caps.serve.found import Found
from caps.serve.lines import Axis
from caps.serve.monitoring import Monitor
from caps.serve.pools import Cache, Pool
from caps.serve.refusals import Refusal, taken
from caps.serve.requests import Asked
from caps.serve.settings import Settings

MODELS_KEPT, SERIES_KEPT, ANALYSES_KEPT, BUDGETS_KEPT = 32, 8, 6, 12
log = logging.getLogger("caps.serve")
PROBE = 4096  # bytes
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Sought:
    """A fit and the series it is to look at."""

    name: str
    record: Record
    series: StoredSeries

    @property
    def key(self) -> tuple[str, ...]:
        """Another fit or another file of the same name is something else."""
        return self.name, self.record.fit, self.series.name, self.series.uploaded


class Service:
    """Everything endpoints need."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.monitor = Monitor()
        self.series = SeriesFolder(settings.folder / "series", settings.stored)
        self.models = ModelFolder(settings.folder / "models", settings.stored, settings.versions)
        self._planned: tuple[int, Planned] = (0, Planned())
        self.scorers = Pool(
            "scores", settings.scorers, settings.waiting_scores, settings.answer_seconds
        )
        waiting, seconds = settings.waiting_views, settings.view_seconds
        self.viewers = Pool("views", settings.viewers, waiting, seconds)
        self.long_viewers = Pool("views of large series", 1, waiting, seconds)
        self.fits = Fits(settings, self.models, self.series, self.monitor)
        self.ready = False
        self._loaded = Cache[CAPS](MODELS_KEPT)
        self._axes = Cache[Axis](SERIES_KEPT)
        self._analysed = Cache[Found](ANALYSES_KEPT)
        self._found = Cache[Found](BUDGETS_KEPT)
        for name, text, count in (
            ("caps_models", "Models in the directory.", lambda: len(self.models.names())),
            ("caps_series", "Series in the directory.", lambda: len(self.series.names())),
            ("caps_fits_waiting", "Fits that wait.", lambda: self.fits.waiting),
            ("caps_fits_running", "Fits that run.", lambda: self.fits.running),
            ("caps_scores_under_way", "Requests for scores.", lambda: len(self.scorers.under_way)),
        ):
            self.monitor.watch(name, text, count)

    def start(self) -> None:
        """Put the directory in order and begin to work."""
        self.series.clean()
        self.models.recover()
        self.ready = True

    async def stop(self) -> None:
        """Stop working; finished fits are kept."""
        self.ready = False
        await self.fits.stop()
        for pool in (self.scorers, self.viewers, self.long_viewers):
            pool.stop()

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

    def loaded(self, name: str, fit: str | None = None) -> CAPS:
        """A fit, that in force if none is named, under its budget; shared, so never changed."""
        folder = self.models.existing(name) / (fit or self.models.ready(name).fit) / MODEL
        pretrained = self.settings.pretrained
        return self._loaded.get(folder, lambda: CAPS.load(folder, pretrained=pretrained))

    def model(
        self,
        name: str,
        alarms: str | None = None,
        series: str | None = None,
        fit: str | None = None,
    ) -> CAPS:
        """The model in force, or another fit, under an alarm budget, its own if none is given.

        With what people said of its events, and what is planned for a series.
        """
        record = self.models.ready(name)
        model, alarms = copy.copy(self.loaded(name, fit)), alarms or record.alarms
        model.set_feedback(self.models.feedback(name))
        model.set_planned(self.planned, series or record.request.series)
        return model if alarms is None else model.set_alarms(alarms)

    @property
    def planned(self) -> Planned:
        """What is planned; a file that was edited badly is told of, and the last one counts."""
        path = self.settings.planned
        if path is None:
            return Planned()
        try:
            changed = path.stat().st_mtime_ns
            if changed != self._planned[0]:
                self._planned = changed, Planned.read(path)
        except (InputError, OSError) as error:
            log.error("the planned events: %s; those read last count", error)
        return self._planned[1]

    async def query_series(self, name: str, work: Callable[[Axis], Answer]) -> Answer:
        """Do something with an uploaded series."""
        series = self.series.facts(name)
        pool = self._viewers(series, self._axes.has((name, series.uploaded)))
        return await pool.run(lambda: work(self._axis(series)))

    async def query(
        self,
        name: str,
        asked: Asked,
        work: Callable[[Found], Answer],
        *,
        fit: str | None = None,
        quick: bool = True,
    ) -> Answer:
        """Do something with what a model finds in a stored series under an alarm budget.

        `quick` says that it takes but a moment once the events are known.
        """
        sought = self._sought(name, asked.series, fit)
        alarms = asked.alarms or sought.record.budget
        said = tuple((each.id, each.revoked) for each in self.models.feedback(name))
        key = sought.key, alarms, said, self.planned

        def find() -> Answer:
            model = self.model(name, alarms, sought.series.name)
            return work(self._found.get(key, lambda: self._analysis(sought).under(model)))

        return await self._viewers(sought.series, quick and self._found.has(key)).run(find)

    async def compare(self, name: str, asked: Asked, fit: str) -> tuple[AlarmChange, Axis]:
        """The alarms that another fit which is kept gains and loses, and the axis they lie on."""

        def compared(found: Found) -> tuple[AlarmChange, Axis]:
            budget = asked.alarms or self.models.ready(name).budget
            other = self.model(name, budget, asked.series, fit).analyze(found.axis.series)
            return changed_alarms(found.analysis, other), found.axis

        return await self.query(name, asked, compared, quick=False)

    async def draw(self, name: str, series: str | None, work: Callable[[Found], Answer]) -> Answer:
        """Do something that needs scores, but no events."""
        sought = self._sought(name, series)
        pool = self._viewers(sought.series, self._analysed.has(sought.key))
        return await pool.run(lambda: work(self._analysis(sought)))

    def _viewers(self, series: StoredSeries, quick: bool) -> Pool:
        """Who waits for a large series does not keep those waiting who look at something else."""
        large = series.rows * len(series.channels) > self.settings.large_values
        return self.long_viewers if large and not quick else self.viewers

    def _axis(self, series: StoredSeries) -> Axis:
        path = self.series.existing(series.name) / DATA
        return self._axes.get(
            (series.name, series.uploaded),
            lambda: Axis(read_upload(path, series.file, series.options)),
        )

    def _sought(self, name: str, series: str | None, fit: str | None = None) -> Sought:
        record = self.models.ready(name)
        if fit is not None and fit != record.fit:
            raise taken(f"the model {name!r} was fitted again", "ask for its events again")
        return Sought(name, record, self.series.facts(series or record.request.series))

    def _analysis(self, sought: Sought) -> Found:
        """What the fit in force finds, under the budget of the fit."""
        record, axis, model = sought.record, self._axis(sought.series), self.loaded(sought.name)
        facts = self.models.facts(sought.name, record)
        own = sought.series.name == record.request.series and facts.train[1] <= len(axis.series)

        def analyse() -> Found:
            analysis = model.analyze(axis.series)
            self.monitor.rows.inc(len(axis.series))
            return Found(model, analysis, axis, record.fit, facts, facts.train if own else None)

        return self._analysed.get(sought.key, analyse)


def read_upload(path: Path, file: str, options: dict[str, Any]) -> Series:
    """Read the file; an error names it as the user does."""
    try:
        return read(path, **options)
    except InputError as error:
        raise InputError(error.problem.replace(str(path), file), error.remedy) from None
