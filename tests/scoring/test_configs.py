"""Whatever number changes a score is a field of a configuration, which survives its file."""

import ast
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caps.configuration import Configuration
from caps.errors import ArtifactError, InputError
from caps.events import EventConfig, LikenessConfig
from caps.neighbours import CounterpartConfig, NeighbourConfig, OverlapConfig
from caps.network import DetectorConfig
from caps.scoring import (
    CalibrationConfig,
    CounterConfig,
    EventRules,
    FitOptions,
    JointConfig,
    ModelConfig,
    ScoringConfig,
    SteadyConfig,
    fit,
    read_input,
)
from caps.stream.config import ArrivalConfig, DriftConfig, StreamConfig
from untrained_weights import noisy_wave

SOURCE = Path(__file__).parents[2] / "src" / "caps"
ROOMS = ("neighbours", "scoring", "network", "events", "stream")
# Numbers that change no score: {module: names}.
SPEED = {
    "events/changes.py": {"MONTH"},
    "events/feedback.py": {"LONGEST_NOTE", "MOST_ENTRIES"},
    "events/likeness.py": {"AT_ONCE"},
    "events/events.py": {"SEVERITIES"},  # the same for every model, so that events compare
    "neighbours/index.py": {"CACHED", "LEAST_AT_ONCE", "AT_ONCE"},
    "network/learning.py": {"BATCH"},
    "network/detector.py": {"BATCH"},
    "network/few_windows.py": {"FEW"},
    "network/windowed.py": {"GROUP", "CHUNK"},
    "scoring/contexts.py": {"PIECE"},
    "scoring/measures.py": {"SEVERAL", "PIECE"},
    "stream/stream.py": {"GROUP"},
}
ARITHMETIC = {  # ends of what floats hold, units and facts of mathematics
    "network/learning.py": {"SILENT"},
    "network/networks.py": {"LARGEST"},
    "scoring/following.py": {"GOLDEN", "TAIL", "QUARTILE", "TENTH"},
    "scoring/calibration.py": {"LARGEST_LEVEL", "SECONDS"},
    "scoring/channels.py": {"ROUNDING"},
    "scoring/evidence.py": {"LARGEST_LOGIT"},
    "scoring/fitted.py": {"ROUNDING"},
    "scoring/joint.py": {"JOINT"},  # a key
    "stream/drift.py": {"GOLDEN"},
    "stream/stream.py": {"NANOSECOND"},
}
SHOWN = {  # texts, progress, files, and which channels are named
    "scoring/detectors.py": {"RECOVERING"},
    "scoring/evidence.py": {"NOTABLE"},
    "scoring/fitted.py": {"USED_UP"},
    "scoring/learned.py": {"LONG"},
    "scoring/remarks.py": {
        "MOSTLY_ZERO",
        "AT_BOUND",
        "FEWEST_VALUES",
        "BOUNDS",
        "FEWEST_ROWS",
    },
    "scoring/storage.py": {"VERSION"},
    "scoring/training_part.py": {"MOST_NAMED"},
    "stream/storage.py": {"VERSION"},
}
CONFIGS = (
    *(NeighbourConfig, CounterpartConfig, OverlapConfig),
    *(ScoringConfig, CalibrationConfig, CounterConfig, JointConfig, ModelConfig),
    SteadyConfig,
    *(DetectorConfig, EventRules),
    *(EventConfig, LikenessConfig, ArrivalConfig, DriftConfig, StreamConfig),
)


def numeric_constants(path: Path) -> Iterator[str]:
    """Upper-case names at the top of a module that are given numbers."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        numbers = [
            each
            for each in ast.walk(node.value)
            if isinstance(each, ast.Constant)
            and isinstance(each.value, int | float)
            and not isinstance(each.value, bool)
        ]
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [each.id for each in ast.walk(ast.Tuple(targets)) if isinstance(each, ast.Name)]
        configured = isinstance(node.value, ast.Call) and "Config" in ast.unparse(node.value.func)
        if numbers and not configured:
            yield from (name for name in names if name.isupper())


@pytest.mark.parametrize("room", ROOMS)
def test_no_number_that_changes_a_score_is_a_constant_of_a_module(room: str) -> None:
    for path in sorted((SOURCE / room).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        known = set[str]().union(*(each.get(name, set()) for each in (SPEED, ARITHMETIC, SHOWN)))
        found = set(numeric_constants(path))
        assert found <= known, f"{name}: {found - known} belong into a configuration"
        assert known <= found, f"{name}: {known - found} are no longer there to be excused"


@pytest.mark.parametrize("config", CONFIGS)
def test_a_configuration_survives_its_file_and_refuses_odd_keys(config: Any) -> None:
    facts = json.loads(json.dumps(config().to_dict()))
    assert config.from_dict(facts) == config()
    missing = dict(list(facts.items())[1:])
    for odd in ({**facts, "more": 1}, missing):
        with pytest.raises(ArtifactError, match="odd or missing keys"):
            config.from_dict(odd)


@pytest.mark.parametrize("config", [each for each in CONFIGS if each is not EventRules])
def test_numbers_of_another_kind_or_sign_are_refused(config: Any) -> None:
    for field in fields(config):
        value = getattr(config(), field.name)
        if isinstance(value, str) or value is None:
            continue
        wrong: list[Any] = ["soon", None, float("nan")]
        if isinstance(value, int | float) and value != 0:
            wrong.append(-value)
        for each in wrong:
            with pytest.raises(InputError, match=field.name):
                replace(config(), **{field.name: each})


def memory_scores(values: np.ndarray, **configs: Configuration) -> np.ndarray:
    series = read_input(values)
    settings = FitOptions(config=ModelConfig(**configs))  # type: ignore[arg-type]
    return fit(series, 900, None, settings).score(series).score


@pytest.mark.parametrize(
    "configs",
    [
        {"neighbours": NeighbourConfig(lengths=(16, 64))},
        {"neighbours": NeighbourConfig(index_size=200)},
        {"scoring": ScoringConfig(floor=0.1)},
        {"scoring": ScoringConfig(halving=0.5)},
        {"calibration": CalibrationConfig(levels=20)},
    ],
    ids=lambda configs: next(iter(configs)),
)
def test_a_fit_scores_by_the_configuration_it_is_given(configs: dict[str, Configuration]) -> None:
    values = noisy_wave(1200)
    values[1000:1010] += 3
    plain, other = memory_scores(values), memory_scores(values, **configs)
    assert not np.allclose(plain, other)
    assert abs(int(other.argmax()) - 1005) < 40


def test_neither_a_detector_nor_a_memory_is_no_fit() -> None:
    series = read_input(noisy_wave(400))
    with pytest.raises(InputError, match="neither a detector nor a memory"):
        FitOptions(memory=False)
    with pytest.raises(InputError, match="without pretrained weights"):
        fit(series, 400, None, FitOptions(detector="auto"))
