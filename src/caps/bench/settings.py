"""What a method is set to, told by a hash: other settings, other cells."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import caps
from caps.artifacts import MANIFEST
from caps.bench.facts import public_facts
from caps.bench.source_code import code_behind
from caps.errors import InputError

if TYPE_CHECKING:
    from caps.baselines import Method

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
    from caps.realize import SHIPPED  # torch: seconds that other methods do without

    manifest = (SHIPPED if folder is None else Path(folder)) / MANIFEST
    if not manifest.is_file():
        raise InputError(f"{manifest.parent} holds no weights", "pretrain them first")
    return hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]


def _settings(method: "Method") -> dict[str, Any]:
    if hasattr(method, "get_params"):
        return public_facts(method.get_params())
    if is_dataclass(method) and not isinstance(method, type):
        return public_facts({each.name: getattr(method, each.name) for each in fields(method)})
    return public_facts(getattr(method, "__dict__", {}))
