"""Every option of a fit, once: type, default, check, help; for Python, commands, HTTP and files.

A field added here is a keyword argument of `CAPS` and part of every saved model; with `given` it is
an option of `caps detect`, `caps fit` and `caps fleet fit` and a field of a request to fit, too.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from caps.errors import ArtifactError, InputError
from caps.network import DetectorConfig
from caps.scoring.evidence import AGGREGATES, Aggregate
from caps.scoring.spans import EventRules

if TYPE_CHECKING:
    from caps.realize import Pretrained

Construction = Literal["caps", "shuffled", "direct", "injection"]  # as in recover, without torch
Folder = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Option:
    """What is to be known of an option beside its type and default."""

    help: str
    holds: Callable[[Any], bool] = lambda value: True  # what needs the series is checked with it
    wanted: str = ""  # completes "give ..."
    given: Any = None  # its type in commands and requests; None: for Python alone
    config: type[Any] | None = None  # with `to_dict` and `from_dict`
    saved: bool = True  # False for what belongs to a machine or a process


def _option(default: Any, help: str, **facts: Any) -> Any:
    return field(default=default, metadata={"option": Option(help, **facts)})


def _choice(choices: Sequence[str], help: str, **facts: Any) -> Any:
    wanted = f"one of {', '.join(choices)}"
    return _option(choices[0], help, holds=lambda value: value in choices, wanted=wanted, **facts)


def _flag(default: bool, help: str, **facts: Any) -> Any:
    return _option(
        default,
        help,
        holds=lambda value: isinstance(value, bool | np.bool_),
        wanted="True or False",
        **facts,
    )


def _count(help: str) -> Any:
    return _option(
        None,
        help,
        holds=lambda value: value is None or (_is_whole(value) and value >= 1),
        wanted="a whole number of at least 1, or None",
    )


def _config(kind: type[Any], default: Any, help: str, wanted: str) -> Any:
    return _option(
        default,
        help,
        holds=lambda value: value is None or isinstance(value, kind) or _same(value, default),
        wanted=wanted,
        config=kind,
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _same(value: object, text: object) -> bool:
    return isinstance(value, str) and value == text


def _are_modes(value: Any) -> bool:
    listed = isinstance(value, list | tuple | range) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )
    return value is None or (listed and all(_is_whole(each) for each in value))


def _are_weights(value: Any) -> bool:
    if value is None or isinstance(value, str | os.PathLike):
        return True
    from caps.realize import Pretrained  # a second of torch, which a saved model does without

    return isinstance(value, Pretrained)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of a fit, checked.

    >>> FitOptions.from_dict(FitOptions(train=0.5, causal=True).to_dict()).causal
    True
    >>> FitOptions(aggregate="median")
    Traceback (most recent call last):
    ...
    caps.errors.InputError: aggregate='median': give one of max, top5
    """

    train: int | float | str | date | np.datetime64 | None = _option(
        None,
        "Part to learn from: rows (2000), share (0.5) or the moment it ends (2024-03-15). All rows "
        "if left out; CAPS then trusts that most of them are normal.",
        given=str | None,
    )
    alarms: str | float = _option(
        "1/1000",
        "False alarms that are acceptable: 1/1000 (rows), 1/day, 2/week.",
        given=str,
    )
    construction: Construction = _choice(
        get_args(Construction), "How counterparts are made; all but caps are controls."
    )
    perturbed: bool = _flag(
        True, "Learn from as many perturbations by rule beside the counterparts, unlike the paper."
    )
    modes: Sequence[int] | None = _option(
        None,
        "Numbers of the modes to make counterparts of; all, or those that known anomalies call "
        "for, if left out.",
        holds=_are_modes,
        wanted="the numbers of modes, such as [0, 2], or None for all",
    )
    members: int | None = _count(
        "Networks per channel whose logits are averaged; 2, but 1 for more than 16 channels."
    )
    references: int | None = _count("Windows of training to make counterparts of, at most.")
    memory: bool = _flag(
        True, "Compare every stretch with those of training too; False leaves all to the detector."
    )
    level: bool = _flag(
        True, "Without a memory: count a channel that leaves its range of training as evidence."
    )
    switches: bool = _flag(
        False,
        "Learn metrics that only switch between two values too, where others vary freely.",
        given=bool,
    )
    seed: int = _option(
        0,
        "Same seed, same result.",
        holds=lambda value: _is_whole(value) and 0 <= value < 2**63,
        wanted="0 or a positive whole number",
        given=int,
    )
    aggregate: Aggregate = _choice(
        AGGREGATES,
        "How several metrics are put together: the strongest evidence, or the mean of the top5.",
        given=Aggregate,
    )
    causal: bool = _flag(False, "Score each row by the past alone.", given=bool)
    pretrained: "Pretrained | Folder | None" = _option(
        None,
        "Folder of pretrained weights, instead of the shipped ones.",
        holds=_are_weights,
        wanted="a folder of weights, or None",
        given=Path | None,
        saved=False,
    )
    detector: DetectorConfig | Literal["auto"] | None = _config(
        DetectorConfig,
        "auto",
        "Sizes and training of the detector; None trains none and leaves all to the memory.",
        'a caps.network.DetectorConfig, "auto", or None for the memory alone',
    )
    rules: EventRules | None = _config(
        EventRules, None, "What counts as one event.", "a caps.scoring.EventRules, or None"
    )
    columns: Any = _option(
        None,
        "Metrics to use, separated by commas; if left out, every numeric column but labels (0 and "
        "1 in a column called like one).",
        given=str | None,
    )
    time: Any = _option(None, "Time column; recognised if left out.", given=str | None)
    cache: Folder | None = _option(
        None,
        "Folder that keeps counterparts, for fitting the same series again.",
        holds=lambda value: value is None or isinstance(value, str | os.PathLike),
        wanted="a folder, or None",
        saved=False,
    )

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if not option.holds(value):
                raise InputError(f"{name}={_shown(value)}", f"give {option.wanted}")
            object.__setattr__(self, name, _plain(value))

    def detector_for(self, channels: int, *, many: int = 16) -> DetectorConfig | None:
        """The detector of each of so many channels; None: the memory alone.

        More channels than `many` take one network each, to be fitted in minutes.
        """
        if self.detector is None:
            return None
        config = DetectorConfig() if self.detector == "auto" else self.detector
        if self.members is not None:
            return replace(config, members=self.members)
        if self.detector == "auto" and channels > many:
            return replace(config, members=1)
        return config

    def given(self) -> dict[str, Any]:
        """All options by name, as `CAPS` takes them."""
        return {name: getattr(self, name) for name in OPTIONS}

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without what belongs to a machine; `from_dict` gives the others back."""
        values = {name: getattr(self, name) for name, each in OPTIONS.items() if each.saved}
        return {name: _json(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The options that `to_dict` described; other or missing keys are errors."""
        odd = set(facts) ^ {name for name, each in OPTIONS.items() if each.saved}
        if odd:
            raise ArtifactError(
                f"a model with odd or missing options: {', '.join(sorted(odd))}", "fit it again"
            )
        return cls(**{name: OPTIONS[name].read(value) for name, value in facts.items()})


OPTIONS: dict[str, Option] = {each.name: each.metadata["option"] for each in fields(FitOptions)}
