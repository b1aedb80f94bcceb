"""Pretrainings of a study: made once, sharing what they have in common."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caps.artifacts import MANIFEST
from caps.bench.studies.study import StudyRun
from caps.bench.studies.weights import AMOUNTS, recipes, trained, with_prior
from caps.errors import InputError
from caps.realize import Pretrained
from caps.realize.presets import TINY, resized
from untrained_weights import save_untrained_weights

SMALL = resized(TINY, pairs=48, steps=3)


@pytest.fixture
def run(tmp_path: Path) -> StudyRun:
    said: list[str] = []
    return StudyRun(tmp_path / "out", quick=True, preset=SMALL, say=said.append)


def test_what_pretrainings_share_is_trained_once(run: StudyRun, monkeypatch) -> None:
    monkeypatch.setattr("caps.bench.studies.weights.QUICK_CHECKED", 24)
    default, vae = trained(run, "default"), trained(run, "vae")
    first, second = Pretrained.load(default), Pretrained.load(vae)
    assert second.preset.realize.mechanism == "vae"
    for name, value in first.representation.state_dict().items():
        assert value.equal(second.representation.state_dict()[name]), name
    assert not vae.with_name("vae-work").exists()
    stamp = (vae / MANIFEST).stat().st_mtime_ns
    assert Pretrained.load(trained(run, "vae")).minutes > 0
    assert (vae / MANIFEST).stat().st_mtime_ns == stamp
    other = replace(run, preset=replace(SMALL, mask_pool=8))
    with pytest.raises(InputError, match="made with other settings"):
        trained(other, "vae")


def test_recipes_change_what_they_are_named_after_and_nothing_else(run: StudyRun) -> None:
    known = recipes(run)
    assert known["default"] == SMALL
    assert known["no-cf"].objective.recombination == 0
    assert replace(known["no-cf"], objective=SMALL.objective) == SMALL
    assert known["clusters-5"].realize == replace(SMALL.realize, clusters=5)
    assert known[f"pairs-{AMOUNTS[-1]}"] == SMALL
    assert known["pairs-10000"].pairs == 12
    full = recipes(StudyRun(run.out, preset=SMALL))
    assert [full[f"pairs-{count}"].pairs for count in AMOUNTS] == list(AMOUNTS)
    with pytest.raises(InputError, match="there is no recipe"):
        trained(run, "gan")


def test_priors_are_fitted_anew_without_training(run: StudyRun, tmp_path: Path) -> None:
    save_untrained_weights(tmp_path / "untrained")
    given = replace(run, weights=tmp_path / "untrained")
    full, student = (Pretrained.load(with_prior(given, kind)) for kind in ("full", "student"))
    assert [mode.prior.kind for mode in full.modes] == ["full"] * 3
    np.testing.assert_allclose(full.modes[0].prior.mean, student.modes[0].prior.mean)
    factor = full.modes[0].prior.factor
    assert not np.allclose(factor, np.diag(np.diag(factor)))
    stamp = (with_prior(given, "full") / MANIFEST).stat().st_mtime_ns
    assert (with_prior(given, "full") / MANIFEST).stat().st_mtime_ns == stamp
