"""Training beyond the paper: events of equal weight, outputs of modes, held-out pairs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.network.config import DetectorConfig
from caps.network.detector import Detector, detector_arrays, detector_of
from caps.network.examples import held_references
from caps.network.learning import SILENT, DetectorLoss, Held, calibrate_outputs, train_detector
from caps.training import seeded
from small_detector import SMALL, Pairs

QUICK = replace(SMALL, steps=3, members=1)


class Fixed(nn.Module):
    """Gives stated logits of two outputs, whatever the windows are."""

    def __init__(self, outputs: Tensor) -> None:
        super().__init__()
        self.given = nn.Parameter(outputs)

    def outputs(self, x: Tensor) -> Tensor:
        return self.given.expand(len(x), -1, -1)


def batch_of(support: Tensor, output: Tensor) -> dict[str, Tensor]:
    zeros = torch.zeros_like(support)
    ones = torch.ones_like(support)
    return {
        "reference": zeros,
        "counterpart": zeros,
        "support": support,
        "trusted": ones,
        "output": output,
    }


def test_every_event_weighs_the_same_and_all_together_as_before() -> None:
    support = torch.zeros(2, 100)
    support[0, :1] = 1
    support[1, 10:29] = 1
    shares = {}
    for weighting in ("points", "events"):
        network = Fixed(torch.zeros(1, 1, 100))
        given = batch_of(support, torch.zeros(2, dtype=torch.int64))
        DetectorLoss(network, weighting)(given)["generated"].backward()
        pulled = network.given.grad[0, 0]  # positives pull up
        shares[weighting] = (pulled[0].item(), pulled[10:29].sum().item(), pulled.sum().item())
    assert shares["points"][2] == pytest.approx(shares["events"][2])
    # The other window of the batch pushes down at the same rows, by a half of a point each.
    point, long = (0.5 * rows / 200 for rows in (1, 19))
    assert shares["points"][:2] == pytest.approx((point - point, long - long))
    assert shares["events"][0] - point == pytest.approx(-10 * point)
    assert shares["events"][1] - long == pytest.approx(-10 / 19 * long)


def test_a_pair_teaches_the_output_of_its_own_mode_alone() -> None:
    network = Fixed(torch.zeros(1, 2, 8))
    given = batch_of(torch.ones(3, 8), torch.ones(3, dtype=torch.int64))
    DetectorLoss(network)(given)["loss"].backward()
    assert (network.given.grad[0, 0] == 0).all()
    DetectorLoss(network)(given)["generated"].backward()
    assert (network.given.grad[0, 1] != 0).all()


@pytest.mark.parametrize("kind", ["tcn", "transformer"])
def test_calibrated_outputs_are_p_values_of_normal_points(kind: str) -> None:
    config = replace(SMALL, outputs=3, members=1, network=kind)  # type: ignore[arg-type]
    with seeded(0, "test"):
        network = Detector(config).members[0].eval()
        windows = torch.randn(200, config.window)
    before = network.outputs(windows)
    calibrate_outputs(network, windows, torch.ones_like(windows), [0, 2], config)
    after = network.outputs(windows)
    assert (after[:, 1] == SILENT).all()
    for output in (0, 2):
        own = after[:, output].flatten()
        expected = np.log(1 / config.output_share) - np.log(2)
        assert torch.quantile(own, 1 - config.output_share).item() == pytest.approx(
            expected, abs=0.02
        )
        beyond = own[own > expected] - expected
        assert beyond.mean().item() == pytest.approx(1.0, abs=0.05)  # an exponential tail
        order = before[:, output].flatten().argsort()
        assert (own[order].diff() >= -1e-4).all()
    torch.testing.assert_close(network(windows), after.amax(dim=1))


def with_modes(pairs: Pairs, modes: np.ndarray) -> Pairs:
    return replace(pairs, mode=modes[np.arange(len(pairs.counterpart)) % len(modes)])


def test_outputs_without_counterparts_stay_silent_and_the_others_find_supports(
    pairs: Pairs,
) -> None:
    config = replace(SMALL, outputs=4, members=1)
    network = train_detector(with_modes(pairs, np.array([0, -1])), config, seed=0)
    found = network.members[0].outputs(torch.from_numpy(pairs.counterpart))
    assert (found[:, 1:3] == SILENT).all()
    logits = found.amax(dim=1).numpy()
    assert logits[pairs.support].mean() > logits[~pairs.support].mean() + 1


def test_more_modes_than_outputs_are_refused(pairs: Pairs) -> None:
    with pytest.raises(InputError, match="one for each mode"):
        train_detector(with_modes(pairs, np.array([0, 3])), replace(QUICK, outputs=4), seed=0)


def test_a_detector_with_outputs_comes_back_from_its_arrays() -> None:
    config = replace(SMALL, outputs=4)
    with seeded(0, "test"):
        detector = Detector(config).eval()
    again = detector_of(DetectorConfig.from_dict(config.to_dict()), detector_arrays(detector))
    x = torch.randn(3, config.window)
    assert torch.equal(again(x), detector(x))


class Falling(nn.Module):
    """A loss that falls and rises again, whatever it is given."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.losses = iter(losses)
        self.register_buffer("turn", torch.zeros(()))

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        assert not self.training
        return {"loss": torch.tensor(next(self.losses))}


def test_training_ends_when_held_out_pairs_get_no_better_and_the_best_weights_stay() -> None:
    loss = Falling([3.0, 2.0, 1.0, 1.5, 1.2])
    held = Held(
        loss, batch_of(torch.ones(4, 8), torch.zeros(4, dtype=torch.int64)), patience=2, most=3
    )
    enough = held.after(10)
    told = []
    for step in range(1, 51):
        loss.turn.fill_(step)
        told.append(enough(step))
    assert [step for step, said in enumerate(told, 1) if said] == [50]
    held.restore()
    assert loss.turn.item() == 30


def test_patience_shortens_training_on_what_cannot_be_learned(pairs: Pairs) -> None:
    seen: list[int] = []

    class Count:
        every = 0.0

        def report(self, report) -> None:  # type: ignore[no-untyped-def]
            seen.append(report.step)

        def close(self) -> None:
            pass

    # Labels at random teach nothing that held-out pairs of other labels would show.
    rng = np.random.default_rng(0)
    odd = replace(pairs, support=rng.random(pairs.support.shape) < 0.5)
    held = replace(odd, support=~odd.support)
    config = replace(SMALL, members=1, steps=400, patience=1, check_every=5)
    train_detector(odd, config, seed=0, held=held, progress=Count())
    assert max(seen) < 400


def test_held_out_windows_trust_held_out_rows_alone() -> None:
    values = np.random.default_rng(0).standard_normal(500)
    found = held_references(
        values, [slice(375, 500)], window=256, limit=20, least=0.25, rng=np.random.default_rng(0)
    )
    assert found is not None
    rows = found.starts[:, None] + np.arange(256)
    assert (found.trusted == ((rows >= 375) & (rows < 500))).all()
    assert 0 < len(found) <= 20
    assert (found.trusted.mean(axis=1) >= 0.25).all()
    nowhere = np.full(500, np.nan)
    assert (
        held_references(
            nowhere,
            [slice(375, 500)],
            window=256,
            limit=20,
            least=0.25,
            rng=np.random.default_rng(0),
        )
        is None
    )


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("weighting", "rows", "points or events"),
        ("outputs", 0, "at least 1"),
        ("patience", 0, "at least 1"),
        ("short_share", 1.5, "a share"),
        ("effect_floor", -1.0, "0 or a number of stds"),
        ("own_share", -0.5, "0 or a number"),
    ],
)
def test_a_wrong_option_names_its_remedy(name: str, value: object, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        DetectorConfig(**{name: value})  # type: ignore[arg-type]
