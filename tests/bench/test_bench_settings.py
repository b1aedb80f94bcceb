"""The hash of a cell: everything that scores changes it, nothing else does."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from edited_source import Edit
from odd_methods import make
from small_series import WriteSeries

from caps.bench.caps_methods import CapsMethod
from caps.bench.cells import of_other_settings
from caps.bench.datasets import find_series
from caps.bench.methods import METHODS, make_method
from caps.bench.runner import planned, run
from caps.bench.settings import config_hash, fact
from caps.bench.source_code import code_behind
from caps.neighbours import NeighbourConfig
from caps.network import AUTO, DetectorConfig
from caps.scoring import CalibrationConfig, ScoringConfig

OF_CAPS = (
    "caps.recover.references.STRIDE",
    "caps.recover.contamination.CLEAR",
    "caps.recover.pairs.LEAST",
    "caps.realize.experts.LIMIT",
    "caps.series.scaling.CLIP",
    "caps.bench.execution.KNOWN_SHARE",
    "caps.metrics.volume.THRESHOLDS",
)
CONFIGS = {
    "neighbours": NeighbourConfig,
    "scoring": ScoringConfig,
    "calibration": CalibrationConfig,
    "detector": DetectorConfig,
}
OF_OTHERS = {
    "lof": "caps.baselines.subsequences.MOST",
    "matrix-profile": "caps.baselines.matrix_profile.SHORTEST",
    "tcn-ae": "caps.baselines.regression.STEPS",
    "tcn-injection": "caps.baselines.labelled.PAIRS",
    "tcn-supervised-focal": "caps.baselines.labelled.FOCUS",
    "usad": "caps.baselines.peers.LIMIT",
    "caps-paper": "caps.recover.references.LIMIT",
}


def change(edit: Edit, constant: str) -> None:
    """Another number in a constant, which may stand beside others."""
    module, _, name = constant.removeprefix("caps.").rpartition(".")
    edit(f"{module.replace('.', '/')}.py", rf"^((?:\w+, )*{name}\b.* = .*?)(\d)", r"\g<1>9\2")


@pytest.fixture(scope="module")
def hash_of_caps() -> str:
    return config_hash("caps", make_method)


@pytest.mark.parametrize("constant", OF_CAPS)
def test_every_number_that_scores_changes_the_hash(
    constant: str, hash_of_caps: str, edit: Edit
) -> None:
    change(edit, constant)
    assert config_hash("caps", make_method) != hash_of_caps


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("method", ["caps", "caps-memory"])
def test_every_number_of_a_configuration_is_a_setting(name: str, method: str) -> None:
    facts = make_method(method, 0).settings()
    written = facts["detector"] if name == "detector" else facts["config"][name]
    if name == "detector" and method == "caps-memory":
        assert written is None
        return
    wanted = AUTO if name == "detector" else CONFIGS[name]()
    assert written == fact(wanted)
    assert set(written) == {field.name for field in fields(CONFIGS[name])}


def test_another_number_of_a_configuration_is_another_cell(hash_of_caps: str) -> None:
    class Other(CapsMethod):
        def settings(self) -> dict[str, Any]:
            facts = super().settings()
            facts["config"]["neighbours"]["overlap"]["run"] *= 2
            return facts

    assert config_hash("caps", lambda name, seed: Other(seed)) != hash_of_caps


@pytest.mark.parametrize("method", OF_OTHERS)
def test_the_numbers_of_a_baseline_change_its_hash(method: str, edit: Edit) -> None:
    before = config_hash(method, make_method)
    change(edit, OF_OTHERS[method])
    assert config_hash(method, make_method) != before


def test_what_cannot_score_leaves_the_hash_alone(edit: Edit) -> None:
    names = ("lof", "usad", "random", "matrix-profile")
    before = [config_hash(name, make_method) for name in names]
    change(edit, "caps.recover.contamination.CLEAR")
    change(edit, "caps.baselines.regression.STEPS")
    assert [config_hash(name, make_method) for name in names] == before


def test_shipped_weights_count(
    hash_of_caps: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr("caps.realize.manifest.SHIPPED", tmp_path)
    assert config_hash("caps", make_method) != hash_of_caps


def test_what_a_plan_makes_counts() -> None:
    assert "baselines/points.py" in code_behind(make_method("lof", 0))


def test_formulas_count_and_words_do_not(hash_of_caps: str, edit: Edit) -> None:
    edit("network/windowed.py", r'^"""', '"""Other words. ')
    edit("network/windowed.py", r"^def ", "# a remark\ndef ")
    assert config_hash("caps", make_method) == hash_of_caps
    edit("network/windowed.py", r"    return (.*)$", r"    return 2 * \1")
    assert config_hash("caps", make_method) != hash_of_caps


def test_the_hash_is_the_same_in_another_process(hash_of_caps: str) -> None:
    code = (
        "from caps.bench.methods import make_method; from caps.bench.settings import config_hash;"
        "print(*(config_hash(name, make_method) for name in ('caps', 'lof', 'usad')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    expected = [hash_of_caps, *(config_hash(name, make_method) for name in ("lof", "usad"))]
    assert done.stdout.split() == expected


def test_facts_tell_what_a_value_holds_and_not_where_it_lies() -> None:
    def outer() -> object:
        return lambda: {"b", "a"}

    assert fact(outer) == fact(outer)
    assert "0x" not in str(fact(outer))
    assert fact({"b", "a", "c"}) == ["a", "b", "c"]
    assert fact(object()) == "object"


def test_every_method_has_a_hash_that_tells_its_settings() -> None:
    hashes = {name: config_hash(name, make_method) for name in METHODS}
    assert len(set(hashes.values())) == len(METHODS)


def test_results_of_other_settings_are_counted_and_left_alone(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    write_series()
    out, files = tmp_path / "out", find_series([data])
    assert run(files, ["level"], out, make=make).outdated == 0
    (task,) = planned(files, ["level"], [0], make)
    old = replace(task.cell, config="00000000").path(out)
    task.cell.path(out).rename(old)
    again = run(files, ["level"], out, make=make)
    assert (again.skipped, again.done, again.outdated) == (0, 1, 1)
    assert old.is_file()
    assert of_other_settings([replace(task.cell, seed=1)], out) == 0
