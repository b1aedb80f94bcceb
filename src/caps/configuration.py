"""Configurations as JSON values and back, checked: one way for all of them."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, asdict, fields
from typing import Any, ClassVar, Self

import numpy as np

from caps.errors import ArtifactError, InputError


def check_keys(facts: Mapping[str, Any], wanted: Iterable[str] | type, what: str) -> None:
    """Refuse facts with other keys than the wanted ones, or than the fields of a dataclass."""
    names = (field.name for field in fields(wanted)) if isinstance(wanted, type) else wanted
    odd = set(facts) ^ set(names)
    if odd:
        raise ArtifactError(
            f"{what} with odd or missing keys: {', '.join(sorted(odd))}",
            "write it again with this version",
        )


class Configuration:
    """The base of frozen dataclasses of numbers, tuples of numbers and other configurations."""

    __slots__ = ()
    WHAT: ClassVar[str] = "a configuration"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same configuration back."""
        facts = asdict(self)  # type: ignore[call-overload]
        return {
            name: list(each) if isinstance(each, tuple) else each for name, each in facts.items()
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The configuration that `to_dict` described; other or missing keys are errors."""
        check_keys(facts, cls, cls.WHAT)
        defaults = {field.name: _default(field) for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: _restored(each, defaults[name]) for name, each in facts.items()})

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


def _restored(value: Any, default: Any) -> Any:
    if isinstance(default, Configuration):
        return type(default).from_dict(value)
    return tuple(value) if isinstance(default, tuple) else value


def _is_like(value: Any, default: float) -> bool:
    kinds = int if isinstance(default, int) else int | float
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    return bool(np.isfinite(value) and np.sign(value) == np.sign(default))
