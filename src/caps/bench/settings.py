"""What a method is set to, told by a hash: other settings, other cells."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import caps

if TYPE_CHECKING:
    from caps.baselines import Method

MakeMethod = Callable[[str, int], "Method"]  # name and seed; a function at the top of a module


def config_hash(name: str, make: MakeMethod) -> str:
    """The hash of the settings of a method, and of the version of CAPS."""
    method = make(name, 0)
    facts = method.settings() if hasattr(method, "settings") else _settings(method)
    text = json.dumps([name, caps.__version__, facts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def public_facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON values, without seeds; objects count by their settings or their type."""
    return {
        name: _fact(value)
        for name, value in values.items()
        if not name.startswith("_") and name not in ("seed", "random_state")
    }


def _settings(method: "Method") -> dict[str, Any]:
    if hasattr(method, "get_params"):
        return public_facts(method.get_params())
    if is_dataclass(method) and not isinstance(method, type):
        return public_facts(asdict(method))
    return public_facts(getattr(method, "__dict__", {}))


def _fact(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return public_facts({str(name): each for name, each in value.items()})
    if isinstance(value, list | tuple):
        return [_fact(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return public_facts(asdict(value))
    if isinstance(value, FunctionType):  # e.g. `lambda seed: Density(50)` in a table of settings
        return [*value.__code__.co_names, *map(repr, value.__code__.co_consts)]
    return type(value).__name__
