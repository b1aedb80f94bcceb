"""`CAPS`: the estimator. Fit on a mostly normal series, score any, get events with a reason."""

import inspect
import os
from collections.abc import Callable, Iterable
from functools import cached_property
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.events import EventConfig, KindOf
from caps.fitted_model import FittedModel, configs_of, write_configs
from caps.parameters import Parameters
from caps.scoring import (
    OPTIONS,
    FitOptions,
    Fitted,
    Moment,
    alarm_rate,
    fit as fit_channels,
    load_model,
    on_regular_grid,
    read_channels,
    read_input,
    rows_to_learn,
    save_model,
    spans_of,
)
from caps.series import ReadOptions, Series
from caps.store import Store

if TYPE_CHECKING:
    from caps.realize import KindRouter, Pretrained
    from caps.scoring import FitProgress

Options = ParamSpec("Options")
DEEP = " " * 8


def _taking(
    options: Callable[Options, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, Options], None]]:
    """Give an `__init__` the keyword arguments of `options`, with their defaults."""
    signature = inspect.signature(options)

    def wrapped(init: Callable[..., None]) -> Callable[Concatenate[Any, Options], None]:
        def taking(self: Any, /, *given: Options.args, **named: Options.kwargs) -> None:
            bound = signature.bind(*given, **named)
            bound.apply_defaults()
            init(self, **bound.arguments)

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [own, *signature.parameters.values()]
        taking.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return taking

    return wrapped


class CAPS(Parameters, FittedModel):
    """Label-free anomaly detection by context-anchored pair supervision.

    >>> from caps import CAPS
    >>> model = CAPS(train=0.5, alarms="1/day", seed=7)
    >>> model.get_params()["alarms"]
    '1/day'
    """

    columns: Any
    time: Any
    reading: ReadOptions
    pretrained: "Pretrained | str | os.PathLike[str] | None"

    @_taking(FitOptions)  # scikit-learn, readers and type checkers see them in the signature
    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    def fit(
        self,
        X: Any,
        y: object = None,
        known_anomalies: Iterable[tuple[Moment, Moment]] | None = None,
        *,
        progress: "FitProgress | None" = None,
    ) -> Self:
        """Learn from the training part of `X`; `y` is ignored.

        `known_anomalies` are spans (start, end) of rows or moments, the end exclusive, that
        are known to be anomalous: they are kept out of training, and select the modes of a
        detector (Diagnosis) if there is one.
        `progress` is called with what is being done and the share that is done.
        """
        options = self._options()
        series = read_input(X, columns=self.columns, time=self.time, reading=self.reading)
        known = spans_of(series, () if known_anomalies is None else known_anomalies)
        learned = rows_to_learn(series, options, known)
        alarm_rate(self.alarms, series[learned.start : learned.end].sampling.step)
        grid, rows, notes = on_regular_grid(series)
        first = int(rows[learned.start])
        weights, named = self._weights(options)
        fitted = fit_channels(
            grid[first:],
            int(rows[learned.end - 1]) + 1 - first,
            weights,
            options,
            known=[
                (int(rows[max(start, learned.start)]) - first, int(rows[end - 1]) + 1 - first)
                for start, end in known
                if end > learned.start
            ],
            progress=progress,
        )
        fitted.facts["notes"] = [*series.remarks, *notes, *fitted.facts["notes"]]
        fitted.facts.update(named, regular=not notes, learned=learned.to_dict())
        write_configs(fitted)
        self.fitted_ = fitted
        self._given = series
        return self

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int8]:
        """Fit, then 1 for the rows of events in `X`, else 0."""
        return self.fit(X).predict(X)

    @property
    def decision_scores_(self) -> FloatArray:
        """As PyOD has it: the scores of the rows that `fit` was given."""
        return self.decision_function(self._own_rows())

    @property
    def labels_(self) -> NDArray[np.int8]:
        """As PyOD has it: 1 for the rows of events in what `fit` was given, else 0."""
        return self.predict(self._own_rows())

    def _own_rows(self) -> Series:
        self._model()
        if not hasattr(self, "_given"):
            raise _not_fitted(
                "a saved model does not keep the rows of its fit: call decision_function or predict"
            )
        given: Series = self._given
        return given

    def _repr_html_(self) -> str:
        if hasattr(self, "fitted_"):
            return super()._repr_html_()
        return f"<pre>{escape(repr(self))}</pre>"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model as a folder of safetensors and JSON."""
        save_model(Path(folder), self._model(), self._options())

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        pretrained: "Pretrained | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """Read a folder written by `save`, or the version in force of a folder of versions.

        The pretrained weights are no part of it: scores do without, the kinds of events need the
        same ones that the model was fitted with.
        """
        versions = Store(folder) if Store.is_at(folder) else None
        path = Path(folder) if versions is None else versions.path(versions.current.name)
        fitted, options = load_model(path)
        configs_of(fitted)
        carried = {"rules": fitted.calibration.rules, "config": fitted.config}
        model = cls(**options.parameters() | carried | {"pretrained": pretrained})
        model.fitted_ = fitted
        return model if versions is None else model.set_feedback(versions.feedback)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def _model(self) -> Fitted:
        if not hasattr(self, "fitted_"):
            raise _not_fitted("this CAPS is not fitted: call fit or load a saved model first")
        fitted: Fitted = self.fitted_
        return fitted

    def _options(self) -> FitOptions:
        return FitOptions(**self.get_params(deep=False))

    def _weights(self, options: FitOptions) -> "tuple[Pretrained | None, dict[str, Any]]":
        """The weights if a detector needs them, and what the model keeps of them for kinds."""
        source = self.pretrained
        if options.detector is None and (source is None or isinstance(source, str | os.PathLike)):
            from caps.realize import weights_facts  # a hundredth of a second; scores do without

            return None, weights_facts(None if source is None else Path(source))
        from caps.realize import load_weights  # torch, a second that most fits do without

        weights = load_weights(source)
        return None if options.detector is None else weights, weights.model_facts

    def _read(self, X: Any) -> Series:
        return read_channels(X, self.names_, time=self.time, reading=self.reading)

    def _kind_of(self, config: EventConfig) -> KindOf | None:
        facts = self._model().facts
        accuracy = facts.get("kind_accuracy")
        if accuracy is None or accuracy < config.least_kind_accuracy:
            return None
        return _Kinds(self.pretrained, facts.get("weights"), config)


def _not_fitted(problem: str) -> Exception:
    from sklearn.exceptions import NotFittedError  # more than a second that fits do without

    error: Exception = NotFittedError(problem)
    return error


class _Kinds:
    """Loads the router when the first kind is asked for."""

    def __init__(self, source: Any, named: object, config: EventConfig) -> None:
        self.source, self.named, self.config = source, named, config

    def __call__(
        self, values: FloatArray, start: int, end: int, expected: FloatArray
    ) -> dict[str, float] | None:
        from caps.events import event_kind  # scipy: up to 0.3 s that scores do without

        router = self.router
        if self.named is not None and router.digests != self.named:
            return None  # other weights than those of the fit: their accuracy is not known
        return event_kind(router, values, start, end, expected, self.config)

    @cached_property
    def router(self) -> "KindRouter":
        """That of the weights given, of those in a folder, or of the shipped ones."""
        from caps.realize import kind_router  # scipy: up to 0.3 s that scores do without

        if self.source is None or isinstance(self.source, str | os.PathLike):
            return kind_router(None if self.source is None else Path(self.source))
        router: KindRouter = self.source.kind_router
        return router


# For `help(CAPS)`: what an option does is said once, with the options.
CAPS.__doc__ = f"{CAPS.__doc__}\n    Parameters\n    ----------\n" + "\n".join(
    f"    {name}\n{fill(option.help, 96, initial_indent=DEEP, subsequent_indent=DEEP)}"
    for name, option in OPTIONS.items()
)
