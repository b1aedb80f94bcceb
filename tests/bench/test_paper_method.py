"""`caps-paper` is what the paper describes, and nothing is added to it."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from caps.bench import paper_method
from caps.bench.methods import make_method
from caps.bench.paper_method import PaperCaps
from caps.network.config import PAPER
from caps.realize import Pretrained
from untrained_weights import save_untrained_weights

TINY = replace(PAPER, width=8, dilations=(1, 4), epochs=1)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    return save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")


def test_its_network_and_training_are_those_of_the_paper() -> None:
    config = make_method("caps-paper", 0).config
    assert config is PAPER
    facts = asdict(config)
    wanted = {"window": 256, "patch": 1, "view": "series", "epochs": 20, "members": 1}
    assert {name: facts[name] for name in wanted} == wanted
    assert (config.batch, config.learning_rate, config.network) == (32, 1e-3, "tcn")


def test_every_reference_at_stride_four_has_a_counterpart_of_each_mode(
    weights: Pretrained, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def learn(pairs, config, seed):
        seen.append((pairs, config, seed))
        return paper_method.Detector(config).eval()

    monkeypatch.setattr(paper_method, "train_detector", learn)
    monkeypatch.setattr(Pretrained, "load", lambda folder: weights)
    rng = np.random.default_rng(0)
    train = np.column_stack([rng.standard_normal(700).cumsum() for _ in range(2)])
    method = PaperCaps(3, TINY).fit(train)
    references = 1 + (700 - 256) // 4
    for column, (pairs, config, seed) in enumerate(seen):
        assert len(pairs.reference) == references
        assert len(pairs.counterpart) == references * len(weights.modes)
        assert pairs.trusted.all(), "trimmed"
        assert (config, seed) == (TINY, 3 + column)
    scores = method.score(train[:300])
    assert scores.shape == (300,)
    assert ((scores > 0) & (scores < 1)).all()
    channels = [
        method.judge(each, method.scaler.transform(train[:300])[:, column])
        for column, each in enumerate(method.learned)
    ]
    np.testing.assert_array_equal(scores, np.max(channels, axis=0))


def test_beyond_the_paper_perturbations_stand_beside_the_counterparts(
    weights: Pretrained, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def learn(pairs, config, seed):
        seen.append(pairs)
        return paper_method.Detector(config).eval()

    monkeypatch.setattr(paper_method, "train_detector", learn)
    monkeypatch.setattr(Pretrained, "load", lambda folder: weights)
    train = np.random.default_rng(0).standard_normal((500, 1)).cumsum(axis=0)
    for method in (PaperCaps(0, TINY), PaperCaps(0, TINY, perturbed=True)):
        method.fit(train)
    alone, both = seen
    assert len(both) == 2 * len(alone)
    np.testing.assert_array_equal(both.counterpart[: len(alone)], alone.counterpart)
    beyond = make_method("caps-paper-beyond", 0)
    steps = [each.config.epochs * (1 + each.perturbed) for each in (beyond, PaperCaps(0))]
    assert steps[0] == steps[1]
    assert beyond.config.weighting == "events"
    assert beyond.settings() != PaperCaps(0).settings()
