"""The state of a running service: its files, queues, threads and what it keeps in memory."""

import logging
from pathlib import Path

from caps.detect import CAPS
from caps.serve.cache import Cache
from caps.serve.claim import Claim
from caps.serve.files import DATA, ModelFolder, SeriesFolder
from caps.serve.fits import Fits
from caps.serve.found import Found
from caps.serve.lines import Axis
from caps.serve.monitoring import Monitor
from caps.serve.pools import Pool
from caps.serve.settings import Settings
from caps.serve.uploads import read_upload

log = logging.getLogger("caps.serve")

MODELS_KEPT, SERIES_KEPT, ANALYSES_KEPT = 32, 8, 6


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
        self.viewers = Pool("views", 1, settings.waiting_views, settings.view_seconds)
        self.fits = Fits(settings, self.models, self.series, self._fit_ended)
        self.ready = False
        self._loaded = Cache[CAPS](MODELS_KEPT)
        self._axes = Cache[Axis](SERIES_KEPT)
        self._found = Cache[Found](ANALYSES_KEPT)
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
        self.claim.release()

    def model(self, name: str) -> CAPS:
        """The model in force under its alarm budget; shared by threads, so never changed."""
        record = self.models.ready(name)
        folder, alarms = self.models.model(name, record), record.alarms
        return self._loaded.get((folder, alarms), lambda: self._load(folder, alarms))

    def axis(self, name: str) -> Axis:
        """An uploaded series."""
        facts = self.series.facts(name)
        path = self.series.existing(name) / DATA
        return self._axes.get(
            (name, facts["uploaded"]),
            lambda: Axis(read_upload(path, facts["file"], facts["options"])),
        )

    def found(self, name: str, series: str | None) -> Found:
        """What a model finds in a stored series; in the one it was fitted on if none is named."""
        record = self.models.ready(name)
        fitted_on = str(record.request["series"])
        series = series or fitted_on
        facts = self.models.facts(name, record)
        axis = self.axis(series)
        model = self.model(name)
        first, last = facts["train"]
        known = series == fitted_on and last <= len(axis.series)

        def analyse() -> Found:
            analysis = model.analyze(axis.series)
            self.monitor.rows.inc(len(axis.series))
            return Found(
                model=model,
                analysis=analysis,
                axis=axis,
                train=(first, last) if known else None,
                notes=tuple(facts["notes"]),
                seconds=facts["seconds"],
            )

        uploaded = self.series.facts(series)["uploaded"]
        made = self._found.get((name, record.fit, series, uploaded), analyse)
        return made if made.model is model else made.under(model)

    def _load(self, folder: Path, alarms: str | None) -> CAPS:
        model = CAPS.load(folder, pretrained=self.settings.pretrained)
        return model if alarms is None else model.set_alarms(alarms)

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
        watch("caps_scores_under_way", "Requests for scores.", lambda: self.scorers.under_way)
