"""What a method is set to, as JSON values and told by a hash: other settings, other cells."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import caps
from caps.artifacts import MANIFEST
from caps.bench.source_code import code_behind
from caps.errors import InputError
from caps.realize import weights_folder

if TYPE_CHECKING:
    from caps.baselines import Method

NOT_SETTINGS = ("seed", "random_state", "cache")  # a cache changes no score
MakeMethod = Callable[[str, int], "Method"]  # name and seed; a function at the top of a module


def config_hash(name: str, make: MakeMethod) -> str:
    """The hash of all that scores: settings, weights, the code behind them, the version."""
    method = make(name, 0)
    facts = method.settings() if hasattr(method, "settings") else _settings(method)
    settings = [name, caps.__version__, facts, code_behind(method)]
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def weights_hash(folder: str | Path | None) -> str:
    """The first twelve digits of the SHA-256 of a manifest, which holds those of all files.

    The weights shipped with CAPS if no folder is named.
    """
    manifest = weights_folder(None if folder is None else Path(folder)) / MANIFEST
    if not manifest.is_file():
        raise InputError(f"{manifest.parent} holds no weights", "pretrain them first")
    return hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]


def _settings(method: "Method") -> dict[str, Any]:
    if hasattr(method, "get_params"):
        return public_facts(method.get_params())
    if is_dataclass(method) and not isinstance(method, type):
        return public_facts({each.name: getattr(method, each.name) for each in fields(method)})
    return public_facts(getattr(method, "__dict__", {}))


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
