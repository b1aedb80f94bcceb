"""Configurations as JSON values and back, checked: one way for all of them."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import Any, Self, TypeVar, get_type_hints

import numpy as np

from caps.errors import ArtifactError, InputError

Config = TypeVar("Config")


def check_keys(facts: Mapping[str, Any], wanted: Iterable[str] | type, what: str) -> None:
    """Refuse facts with other keys than the wanted ones, or than the fields of a dataclass."""
    names = (field.name for field in fields(wanted)) if isinstance(wanted, type) else wanted
    odd = set(facts) ^ set(names)
    if odd:
        raise ArtifactError(
            f"{what} with odd or missing keys: {', '.join(sorted(odd))}",
            "write it again with this version",
        )


def from_json(kind: type[Config], facts: Any) -> Config:
    """The dataclass, perhaps of others, that `asdict` made the facts of; lists become tuples.

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


def _restored(value: Any, hint: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, value)
    return tuple(value) if isinstance(value, list) else value


class Configuration:
    """The base of frozen dataclasses of numbers, tuples of numbers and other configurations."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same configuration back."""
        facts = asdict(self)  # type: ignore[call-overload]
        return {
            name: list(each) if isinstance(each, tuple) else each for name, each in facts.items()
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The configuration that `to_dict` described; other or missing keys are errors."""
        return from_json(cls, facts)

    def __post_init__(self) -> None:
        """Refuse a number of another kind or sign than the default's."""
        for field in fields(self):  # type: ignore[arg-type]
            default, value = _default(field), getattr(self, field.name)
            if isinstance(default, Configuration):
                alike = isinstance(value, type(default))
            elif isinstance(default, tuple):
                alike = isinstance(value, tuple) and len(value) > 0
                alike = alike and all(_is_like(each, default[0]) for each in value)
            else:
                alike = _is_like(value, default)
            if not alike:
                raise InputError(f"{field.name} is {value!r}", f"give the like of {default!r}")


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _is_like(value: Any, default: float) -> bool:
    kinds = int if isinstance(default, int) else int | float
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    return bool(np.isfinite(value) and np.sign(value) == np.sign(default))
