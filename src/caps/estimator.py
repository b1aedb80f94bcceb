"""`CAPS`: the estimator. Fit on a mostly normal series, score any, get events with a reason."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from caps.errors import ArtifactError, InputError
from caps.events import EventConfig, KindOf
from caps.fitted_model import FittedModel, configs_of, write_configs
from caps.network import DetectorConfig
from caps.scoring import (
    Aggregate,
    EventRules,
    Fitted,
    Moment,
    Span,
    alarm_rate,
    check_parameters,
    load_model,
    on_regular_grid,
    read_channels,
    read_input,
    save_model,
    stretches_of,
)
from caps.series import Series

if TYPE_CHECKING:
    from caps.realize import Pretrained
    from caps.scoring import FitProgress

FloatArray = NDArray[np.float64]
Construction = Literal["caps", "shuffled", "direct", "injection"]
ALARMS = "1/1000"
MANY_CHANNELS = 16  # more of them take one network each, to be fitted in minutes
SAVED = (
    "alarms",
    "construction",
    "perturbed",
    "members",
    "references",
    "memory",
    "level",
    "switches",
    "aggregate",
    "causal",
)


class CAPS(FittedModel, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Label-free anomaly detection by context-anchored pair supervision.

    Parameters
    ----------
    train
        The part of the series to learn from: a number of rows, a share of them, or the moment it
        ends; all that `fit` is given if left out.
    alarms
        How many false alarms are acceptable: "1/1000" rows, "1/day", "2/week". Can be changed at
        any time, without fitting again.
    construction
        How counterparts are made; all but "caps" are controls.
    perturbed
        Learn from as many perturbations by rule beside the counterparts; the paper has none.
    modes
        Numbers of the modes to make counterparts of; all, or those that known anomalies call for.
    members
        Networks per channel whose logits are averaged; 2, but 1 for more than 16 channels.
    references
        Windows of training to make counterparts of, at most.
    seed
        Same seed, same result.
    memory
        Compare every stretch with those of the training part too; False leaves all to the detector.
    level
        Without a memory: count a channel that leaves its range of training as evidence too.
    switches
        Learn channels that only switch between two values too, where others vary freely.
    aggregate
        How channels are put together: the strongest evidence, or the mean of the "top5".
    causal
        Score each row by the past alone, as if rows came one at a time.
    pretrained
        Folder of weights, or a `Pretrained`; left out, the weights shipped with CAPS.
    detector, rules
        Sizes and training of the detector; what counts as one event.
    columns, time
        Channels and time column, as for `caps.read`.
    cache
        Folder that keeps counterparts, for fitting the same series again.

    >>> import numpy as np
    >>> from caps import CAPS
    >>> model = CAPS(train=0.5, alarms="1/day", seed=7)
    >>> model.get_params()["alarms"]
    '1/day'
    """

    def __init__(
        self,
        *,
        train: int | float | str | date | np.datetime64 | None = None,
        alarms: str | float = ALARMS,
        construction: Construction = "caps",
        perturbed: bool = True,
        modes: Sequence[int] | None = None,
        members: int | None = None,
        references: int | None = None,
        memory: bool = True,
        level: bool = True,
        switches: bool = False,
        seed: int = 0,
        aggregate: Aggregate = "max",
        causal: bool = False,
        pretrained: "Pretrained | str | os.PathLike[str] | None" = None,
        detector: DetectorConfig | None = None,
        rules: EventRules | None = None,
        columns: Any = None,
        time: Any = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self.train = train
        self.alarms = alarms
        self.construction = construction
        self.perturbed = perturbed
        self.modes = modes
        self.members = members
        self.references = references
        self.memory = memory
        self.level = level
        self.switches = switches
        self.seed = seed
        self.aggregate = aggregate
        self.causal = causal
        self.pretrained = pretrained
        self.detector = detector
        self.rules = rules
        self.columns = columns
        self.time = time
        self.cache = cache

    def fit(
        self,
        X: Any,
        y: object = None,
        known_anomalies: Iterable[tuple[Moment, Moment]] | None = None,
        *,
        progress: "FitProgress | None" = None,
    ) -> Self:
        """Learn from the training part of `X`; `y` is ignored.

        `known_anomalies` are stretches (start, end) of rows or moments, the end exclusive, that
        are known to be anomalous: they select the modes (Diagnosis) and are kept out of training.
        `progress` is called with what is being done and the share that is done.
        """
        check_parameters(self.get_params(deep=False))
        series = read_input(X, columns=self.columns, time=self.time)
        train = series if self.train is None else series.split(self.train)[0]
        alarm_rate(self.alarms, train.sampling.step)
        known = stretches_of(series, () if known_anomalies is None else known_anomalies)
        grid, rows, notes = on_regular_grid(series)
        fitted = self._fitted(
            grid,
            int(rows[len(train) - 1]) + 1,
            [(int(rows[start]), int(rows[end - 1]) + 1) for start, end in known],
            progress,
        )
        fitted.facts["notes"] = [*series.remarks, *notes, *fitted.facts["notes"]]
        fitted.facts["regular"] = not notes
        write_configs(fitted)
        self.fitted_ = fitted
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model as a folder of safetensors and JSON."""
        save_model(Path(folder), self._model(), self._saved_parameters())

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        pretrained: "Pretrained | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """Read a folder written by `save`.

        The pretrained weights are no part of it: scores do without, the kinds of events need the
        same ones that the model was fitted with.
        """
        fitted, parameters = load_model(Path(folder))
        configs_of(fitted)
        rules = fitted.calibration.rules
        model = cls(pretrained=pretrained, rules=rules, **_parameters(parameters, fitted))
        model.fitted_ = fitted
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def _model(self) -> Fitted:
        if not hasattr(self, "fitted_"):
            raise NotFittedError("this CAPS is not fitted: call fit or load a saved model first")
        fitted: Fitted = self.fitted_
        return fitted

    def _fitted(
        self, grid: Series, rows: int, known: list[Span], progress: "FitProgress | None"
    ) -> Fitted:
        # Here, so that a saved model is scored without loading the generator.
        from caps.events import load_weights
        from caps.scoring import REFERENCES, FitSettings, fit

        detector = self.detector or DetectorConfig()
        if self.members is not None:
            detector = replace(detector, members=int(self.members))
        elif self.detector is None and len(grid.channels) > MANY_CHANNELS:
            detector = replace(detector, members=1)
        settings = FitSettings(
            detector=detector,
            rules=self.rules or EventRules(),
            aggregate=self.aggregate,
            causal=bool(self.causal),
            construction=self.construction,
            perturbed=bool(self.perturbed),
            modes=self.modes,
            references=REFERENCES if self.references is None else int(self.references),
            memory=bool(self.memory),
            level=bool(self.level),
            switches=bool(self.switches),
            seed=int(self.seed),
            cache=None if self.cache is None else Path(self.cache),
        )
        weights = load_weights(self.pretrained)
        return fit(grid, rows, weights, settings, known=known, progress=progress)

    def _read(self, X: Any) -> Series:
        return read_channels(X, self.names_, time=self.time)

    def _kind_of(self, config: EventConfig) -> KindOf | None:
        facts = self._model().facts
        accuracy = facts.get("kind_accuracy")
        if accuracy is None or accuracy < config.least_kind_accuracy:
            return None
        return _Kinds(self.pretrained, facts.get("weights"), config)

    def _saved_parameters(self) -> dict[str, Any]:
        """All but what belongs to a machine or a process."""
        kept = {name: _plain(getattr(self, name)) for name in SAVED}
        kept["train"] = None if self.train is None else str(self.train)
        kept["modes"] = None if self.modes is None else [int(mode) for mode in self.modes]
        kept["seed"] = int(self.seed)
        kept["columns"] = _names(self.columns)
        kept["time"] = self.time if isinstance(self.time, str | bool) else None
        return kept


def _names(columns: Any) -> Any:
    if columns is None or isinstance(columns, str | int):
        return columns
    return [_plain(name) for name in columns]


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def _parameters(saved: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """The parameters of a saved model, checked."""
    wanted = {*SAVED, "train", "modes", "seed", "columns", "time"}
    if set(saved) != wanted:
        odd = ", ".join(sorted(set(saved) ^ wanted))
        raise ArtifactError(f"a model with odd or missing parameters: {odd}", "fit it again")
    try:
        alarm_rate(saved["alarms"], fitted.step)
    except (InputError, TypeError, ValueError) as error:
        raise ArtifactError(f"a model with an odd budget ({error})", "fit it again") from None
    return saved


class _Kinds:
    """Loads the weights when the first kind is asked for."""

    def __init__(self, source: Any, named: object, config: EventConfig) -> None:
        self.source, self.named, self.config = source, named, config
        self.weights: Pretrained | None = None

    def __call__(
        self, values: FloatArray, start: int, end: int, expected: FloatArray
    ) -> dict[str, float] | None:
        from caps.events import event_kind, load_weights

        if self.weights is None:
            self.weights = load_weights(self.source)
        if self.named is not None and self.weights.facts.get("sha256") != self.named:
            return None  # other weights than those of the fit: their accuracy is not known
        return event_kind(self.weights, values, start, end, expected, self.config)
