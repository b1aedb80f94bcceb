"""Configurations as JSON values and back, checked: one way for all of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from caps.errors import ArtifactError, InputError

Config = TypeVar("Config")


def check_keys(facts: Mapping[str, Any], wanted: Iterable[str] | type, what: str) -> None:
    """Refuse facts with other keys than the wanted ones, or than the fields of a dataclass."""
    names = (each.name for each in fields(wanted)) if isinstance(wanted, type) else wanted
    odd = set(facts) ^ set(names)
    if odd:
        raise ArtifactError(
            f"{what} with odd or missing keys: {', '.join(sorted(odd))}",
            "write it again with this version",
        )


def from_json(kind: type[Config], facts: Any) -> Config:
    """The dataclass, perhaps of others, that `to_json` made the facts of; lists become tuples.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Sizes:
    ...     widths: tuple[int, ...]
    >>> from_json(Sizes, {"widths": [16, 8]})
    Sizes(widths=(16, 8))
    """
    if not isinstance(facts, Mapping):
        raise ArtifactError(f"{kind.__name__} is {facts!r}", "write it again with this version")
    check_keys(facts, kind, kind.__name__)
    hints = get_type_hints(kind)
    return kind(**{name: _restored(each, hints[name]) for name, each in facts.items()})


def to_json(value: Any) -> Any:
    """A dataclass, perhaps of others, of arrays and tuples, as JSON values for `from_json`."""
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _restored(value: Any, hint: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, value)
    if get_origin(hint) is np.ndarray:
        try:
            return np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArtifactError(f"{value!r} for numbers", "write it again") from None
    if hint in (int, float, str) and not isinstance(value, int | float if hint is float else hint):
        raise ArtifactError(f"{value!r} for a value of {hint.__name__}", "write it again")
    return tuple(value) if isinstance(value, list) else value


class Configuration:
    """The base of frozen dataclasses of numbers, names, tuples and other configurations."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same configuration back."""
        facts: dict[str, Any] = to_json(self)
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The configuration that `to_dict` described; other or missing keys are errors."""
        return from_json(cls, facts)

    def __post_init__(self) -> None:
        """Refuse what is out of bounds, or of another kind or sign than the default."""
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            holds, wanted = each.metadata.get("rule") or _rule(each)
            if not holds(value):
                raise InputError(f"{each.name} is {value!r}", f"give {wanted}")


def within(default: float, low: float, high: float, wanted: str) -> Any:
    """A field of numbers of the default's kind, from `low` to `high`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cut(Configuration):
    ...     edge: float = within(0.6, 0, 1, "a share")
    >>> Cut(edge=1.5)
    Traceback (most recent call last):
    ...
    caps.errors.InputError: edge is 1.5: give a share
    """

    def holds(value: Any) -> bool:
        return _is_number(value, default) and low <= value <= high

    return field(default=default, metadata={"rule": (holds, wanted)})


def _rule(each: Field[Any]) -> tuple[Callable[[Any], bool], str]:
    """What the values of a field have to be, and how that is said."""
    default = each.default_factory() if each.default_factory is not MISSING else each.default
    if isinstance(default, str):
        *others, last = get_args(each.type)
        return lambda value: value in (*others, last), f"{', '.join(others)} or {last}"
    if default is None:
        return lambda value: value is None or _is_like(value, 1), "at least 1, or None"
    wanted = "at least 1" if isinstance(default, int) else f"the like of {default!r}"
    return lambda value: _is_like(value, default), wanted


def _is_like(value: Any, default: Any) -> bool:
    if isinstance(default, Configuration):
        return isinstance(value, type(default))
    if isinstance(default, tuple):
        listed = isinstance(value, tuple | list) and len(value) > 0
        return listed and all(_is_like(each, default[0]) for each in value)
    number = _is_number(value, default) and np.isfinite(value)
    return bool(number and np.sign(value) == np.sign(default))


def _is_number(value: Any, default: float) -> bool:
    kinds = int if isinstance(default, int) else int | float
    return isinstance(value, kinds) and not isinstance(value, bool)
