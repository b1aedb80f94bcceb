"""The parameters of the estimator, checked when it is fitted: scikit-learn only stores them."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from caps.errors import InputError
from caps.network import DetectorConfig
from caps.scoring.evidence import AGGREGATES
from caps.scoring.spans import EventRules

SWITCHES = ("perturbed", "memory", "level", "switches", "causal")
LARGEST_SEED = 2**63 - 1

Rule = tuple[Callable[[Any], bool], str]


def check_parameters(given: Mapping[str, Any]) -> None:
    """Refuse a value that no fit can use, by the name of its parameter."""
    for name, (holds, wanted) in _rules().items():
        if not holds(given[name]):
            raise InputError(f"{name}={_shown(given[name])}", f"give {wanted}")


def is_whole(value: object) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _rules() -> dict[str, Rule]:
    from caps.realize import Pretrained  # here, as scoring does without
    from caps.recover import CONSTRUCTIONS

    path = (str, os.PathLike)
    flag: Rule = (lambda value: isinstance(value, bool | np.bool_), "True or False")
    count: Rule = (
        lambda value: value is None or (is_whole(value) and value >= 1),
        "a whole number of at least 1, or None",
    )
    return {
        "aggregate": (lambda value: value in AGGREGATES, f"one of {', '.join(AGGREGATES)}"),
        "construction": (
            lambda value: value in CONSTRUCTIONS,
            f"one of {', '.join(CONSTRUCTIONS)}",
        ),
        "seed": (
            lambda value: is_whole(value) and 0 <= value <= LARGEST_SEED,
            "0 or a positive whole number",
        ),
        "members": count,
        "references": count,
        "modes": (
            lambda value: value is None or _are_whole(value),
            "the numbers of modes, such as [0, 2], or None for all",
        ),
        "detector": (_none_or(DetectorConfig), "a caps.network.DetectorConfig, or None"),
        "rules": (_none_or(EventRules), "a caps.scoring.EventRules, or None"),
        "pretrained": (_none_or(Pretrained, *path), "a folder of weights, or None"),
        "cache": (_none_or(*path), "a folder, or None"),
        **dict.fromkeys(SWITCHES, flag),
    }


def _none_or(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kinds)


def _are_whole(value: Any) -> bool:
    listed = isinstance(value, list | tuple | range) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )
    return listed and all(is_whole(each) for each in value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
