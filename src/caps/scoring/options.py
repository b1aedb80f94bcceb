"""Every option of a fit, once: type, default, check, help; for Python, commands, HTTP and files.

A field added here is a keyword argument of `CAPS`, part of saved models and of the benchmark's cell
hash; with `given` also an option of `caps detect`, `fit` and `fleet fit` and a field of HTTP fits.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from caps.configuration import check_keys
from caps.errors import InputError
from caps.network import AUTO, DetectorConfig
from caps.scoring.config import ModelConfig
from caps.scoring.evidence import AGGREGATES, Aggregate
from caps.scoring.spans import EventRules
from caps.series import ReadOptions

if TYPE_CHECKING:
    from caps.realize import Pretrained

# As in recover, without torch.
Construction = Literal["caps", "resized", "shuffled", "direct", "injection", "perturbation"]
Folder = str | os.PathLike[str]
STEADY = "steady"  # `train`: the first part of the series that looks so


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Option:
    """What is to be known of an option beside its type and default."""

    help: str
    holds: Callable[[Any], bool] = lambda value: True  # what needs the series is checked with it
    wanted: str = ""  # completes "give ..."
    given: Any = None  # its type in commands and requests; None: for Python alone
    off: str = ""  # help of a command's --no-NAME, which gives `off_value`
    off_value: Any = None
    on: str = ""  # help of a command's --NAME without a value, which gives `on_value`
    on_value: Any = None
    saved: Callable[[Any], Any] | None = _unchanged  # None: by a machine, or with the fit itself
    restored: Callable[[Any], Any] = _unchanged  # from what `saved` made of it
    default: Any = None  # that of its field


def _option(default: Any, help: str, **facts: Any) -> Any:
    return field(default=default, metadata={"option": Option(help, default=default, **facts)})


def _choice(default: str, choices: Sequence[str], help: str, **facts: Any) -> Any:
    wanted = f"one of {', '.join(choices)}"
    return _option(default, help, holds=lambda value: value in choices, wanted=wanted, **facts)


def _flag(default: bool, help: str, **facts: Any) -> Any:
    def holds(value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    return _option(default, help, holds=holds, wanted="True or False", **facts)


def _config(kind: type[Any], help: str) -> Any:
    """A configuration, which a fitted model carries by itself."""
    wanted = f"a {kind.__module__.rpartition('.')[0]}.{kind.__name__}"
    return _option(
        kind(), help, holds=lambda value: isinstance(value, kind), wanted=wanted, saved=None
    )


def _is_detector(value: object) -> bool:
    named = isinstance(value, str) and value == "auto"
    return value is None or named or isinstance(value, DetectorConfig)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, which JSON knows."""
    return value.item() if isinstance(value, np.number | np.bool_) else value


def _are_modes(value: Any) -> bool:
    listed = isinstance(value, list | tuple | range) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )
    return value is None or (listed and all(_is_whole(each) for each in value))


def _are_weights(value: Any) -> bool:
    if value is None or isinstance(value, str | os.PathLike):
        return True
    from caps.realize import Pretrained  # torch, a second: a saved model is loaded without

    return isinstance(value, Pretrained)


def _listed(value: Any) -> Any:
    """Numbers or names as JSON values."""
    if value is None or isinstance(value, str | int):
        return value
    return [_plain(each) for each in value]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of a fit, checked.

    >>> FitOptions.from_dict(FitOptions(train=2000, causal=True).to_dict()).causal
    True
    >>> FitOptions(aggregate="median")
    Traceback (most recent call last):
    ...
    caps.errors.InputError: aggregate='median': give one of joint, max, top5
    """

    train: int | float | str | date | np.datetime64 | None = _option(
        None,
        "Part to learn from: rows (2000), share (0.5), the moment it ends (2024-03-15), steady "
        "(the first half, as far as nothing changes for good) or all. If left out, steady "
        "where the same rows are scored, all where they are only learned from.",
        given=str | None,
        saved=lambda value: None if value is None else str(value),
    )
    alarms: str | float = _option(
        "1/1000", "False alarms that are acceptable: 1/1000 (rows), 1/day, 2/week.", given=str
    )
    construction: Construction = _choice(
        "caps", get_args(Construction), "How counterparts are made; all but caps are controls."
    )
    perturbed: bool = _flag(
        True,
        "Learn from as many perturbations by rule beside the counterparts; the paper has none.",
    )
    modes: Sequence[int] | None = _option(
        None,
        "Numbers of the modes to make counterparts of; if left out, all, or those that known "
        "anomalies call for.",
        holds=_are_modes,
        wanted="the numbers of modes, such as [0, 2], or None for all",
        saved=_listed,
    )
    members: int | None = _option(
        None,
        "Networks per channel whose logits are averaged; 2, but 1 for more than 16 channels.",
        holds=lambda value: value is None or (_is_whole(value) and value >= 1),
        wanted="a whole number of at least 1, or None",
    )
    references: int = _option(
        384,  # with a counterpart for each mode: more than 200 steps of 16 can draw on
        "Windows of training to make counterparts of, at most.",
        holds=lambda value: _is_whole(value) and value >= 1,
        wanted="a whole number of at least 1",
    )
    memory: bool = _flag(
        True,
        "Compare every subsequence with those of the training part too; False leaves all to "
        "the detector.",
    )
    level: bool = _flag(
        True, "Without a memory: count a channel that leaves its range of training as evidence too."
    )
    switches: bool = _flag(
        False,
        "Learn metrics that only switch between two values too, where others vary freely.",
        given=bool,
    )
    counters: bool = _flag(
        True,
        "Score metrics that only rise, but for restarts from zero, by how much they rise from "
        "row to row; False takes their values as they are.",
        given=bool,
        off="Score the values of counters as they are, instead of their rise from row to row.",
        off_value=False,
    )
    seed: int = _option(
        0,
        "Same seed, same result.",
        holds=lambda value: _is_whole(value) and 0 <= value < 2**63,
        wanted="0 or a positive whole number",
        given=int,
    )
    aggregate: Aggregate = _choice(
        "joint",
        AGGREGATES,
        "How several metrics are put together: also by how they behave together (joint; live, "
        "as max), by the strongest evidence (max), or by the mean of the top5.",
        given=Aggregate,
    )
    causal: bool = _flag(False, "Score each row by the past alone.", given=bool)
    pretrained: "Pretrained | Folder | None" = _option(
        None,
        "Folder of pretrained weights, instead of the shipped ones.",
        holds=_are_weights,
        wanted="a folder of weights, or None",
        given=Path | None,
        saved=None,
    )
    detector: DetectorConfig | Literal["auto"] | None = _option(
        None,  # on real series it adds nothing that could be measured, and takes minutes
        'A detector beside the comparison with the rows of training: "auto" trains one, a '
        "DetectorConfig one of its sizes; None compares rows with those of training alone.",
        holds=_is_detector,
        wanted='a caps.network.DetectorConfig, "auto", or None to do without',
        given=Literal["auto"] | None,
        on="Train a detector too; it takes many times as long.",
        on_value="auto",
        saved=lambda value: value.to_dict() if isinstance(value, DetectorConfig) else value,
        restored=lambda value: (
            DetectorConfig.from_dict(value) if isinstance(value, dict) else value
        ),
    )
    rules: EventRules = _config(EventRules, "What counts as one event.")
    config: ModelConfig = _config(
        ModelConfig, "Numbers of the comparison, of scores and of calibration."
    )
    columns: Any = _option(
        None,
        "Metrics to use, in a command separated by commas; if left out, every numeric column "
        "but labels (0 and 1 in a column called like one).",
        given=str | None,
        saved=_listed,
    )
    time: Any = _option(
        None,
        "Time column; recognised if left out.",
        given=str | None,
        saved=lambda value: value if isinstance(value, str | bool) else None,
    )
    reading: ReadOptions = _option(
        ReadOptions(),
        "How files and tables are read, beside their columns and time.",
        holds=lambda value: isinstance(value, ReadOptions),
        wanted="a caps.series.ReadOptions",
        saved=ReadOptions.to_dict,
        restored=ReadOptions.from_dict,
    )
    cache: Folder | None = _option(
        None,
        "Folder that keeps counterparts, for fitting the same series again.",
        holds=lambda value: value is None or isinstance(value, str | os.PathLike),
        wanted="a folder, or None",
        saved=None,
    )

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if not option.holds(value):
                raise InputError(f"{name}={_shown(value)}", f"give {option.wanted}")
            object.__setattr__(self, name, _plain(value))
        if self.detector is None and not self.memory:
            raise InputError(
                "neither a detector nor a memory", 'give detector="auto", or leave the memory'
            )

    def for_own_rows(self) -> Self:
        """Of a fit whose own rows are scored: a part of them is proposed if none was chosen."""
        return replace(self, train=STEADY) if self.train is None else self

    def detector_for(self, channels: int, *, many: int = 16) -> DetectorConfig | None:
        """The detector of each of so many channels; None: they are compared with training alone.

        More channels than `many` take one network each, to be fitted in minutes.
        """
        if self.detector is None:
            return None
        config = AUTO if self.detector == "auto" else self.detector
        if self.members is not None:
            return replace(config, members=self.members)
        if self.detector == "auto" and channels > many:
            return replace(config, members=1)
        return config

    def parameters(self) -> dict[str, Any]:
        """All options by name, as `CAPS` takes them."""
        return {name: getattr(self, name) for name in OPTIONS}

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, all but what belongs to a machine; `from_dict` gives them back."""
        return {
            name: option.saved(getattr(self, name))
            for name, option in OPTIONS.items()
            if option.saved is not None
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The options that `to_dict` described; other or missing keys are errors."""
        saved = [name for name, option in OPTIONS.items() if option.saved is not None]
        check_keys(facts, saved, "options")
        return cls(**{name: OPTIONS[name].restored(value) for name, value in facts.items()})


OPTIONS: Mapping[str, Option] = {each.name: each.metadata["option"] for each in fields(FitOptions)}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
