"""Settings and constants as JSON values: the same in every process, whatever they are made of."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType
from typing import Any

NOT_SETTINGS = ("seed", "random_state")


def public_facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON values, without seeds; objects count by their settings or their type."""
    return {
        name: fact(value)
        for name, value in values.items()
        if not name.startswith("_") and name not in NOT_SETTINGS
    }


def fact(value: Any) -> Any:
    """One value, told by what it holds and never by where it lies in memory."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return public_facts({str(name): each for name, each in value.items()})
    if isinstance(value, list | tuple):
        return [fact(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((fact(each) for each in value), key=repr)
    if is_dataclass(value) and not isinstance(value, type):
        return public_facts({each.name: getattr(value, each.name) for each in fields(value)})
    if isinstance(value, FunctionType):  # in a table of settings: by its code
        return fact(value.__code__)
    if isinstance(value, CodeType):
        return [*value.co_names, *map(fact, value.co_consts)]
    if hasattr(value, "tolist"):  # arrays, tensors and their scalars
        return fact(value.tolist())
    return value.__qualname__ if isinstance(value, type) else type(value).__name__
