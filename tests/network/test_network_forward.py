"""The networks see the whole window, keep to their views and leave Python as one graph."""

import json

import numpy as np
import pytest
import torch

from caps.errors import ArtifactError, InputError
from caps.network.config import PAPER, TRANSFORMER, DetectorConfig
from caps.network.detector import Detector
from caps.network.networks import WindowView
from caps.training import seeded

CONFIGS = {
    "tcn": DetectorConfig(),
    "paper": PAPER,
    "transformer": TRANSFORMER,
    "outputs": DetectorConfig(outputs=4, view="both"),
}


def built(config: DetectorConfig) -> Detector:
    with seeded(0, "test"):
        return Detector(config).eval()


def windows(count: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(count, 256)).astype(np.float32))


@pytest.mark.parametrize("name", CONFIGS)
def test_there_is_one_logit_for_every_point(name: str) -> None:
    assert built(CONFIGS[name])(windows(3)).shape == (3, 256)


@pytest.mark.parametrize("name", ["tcn", "paper"])
def test_the_convolutions_alone_reach_from_end_to_end(name: str) -> None:
    network = built(CONFIGS[name]).members[0]
    patches = 256 // network.patch
    x = torch.randn(1, network.stem.in_channels, 1, patches, requires_grad=True)
    # Past the view, whose mean and std would carry something of every point anyway.
    network.head(network.blocks(network.stem(x)))[0, :, 0, 0].sum().backward()
    assert x.grad is not None
    assert (x.grad[0, :, 0, -1] != 0).any()


def test_the_light_detector_is_light() -> None:
    sizes = {
        name: sum(weight.numel() for weight in built(config).members[0].parameters())
        for name, config in CONFIGS.items()
    }
    assert 25_000 < sizes["tcn"] < 40_000
    assert 10_000 < sizes["paper"] < 20_000


def test_the_window_view_forgets_level_and_scale_and_the_series_view_keeps_them() -> None:
    x = windows(4)
    moved = 3 * x + 2
    window, series, both = (
        WindowView(DetectorConfig(view=kind)) for kind in ("window", "series", "both")
    )
    torch.testing.assert_close(window(moved), window(x), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(series(moved).squeeze(1), moved.clamp(-10, 10))
    torch.testing.assert_close(both(x), torch.cat([window(x), series(x)], dim=1))


@pytest.mark.parametrize("kind", ["window", "series", "both"])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1.0, 1e12, 3e38])
def test_views_of_any_scale_are_finite_and_bounded(kind: str, size: float) -> None:
    seen = WindowView(DetectorConfig(view=kind))(windows(2).sign() * size)  # type: ignore[arg-type]
    assert seen.isfinite().all()
    assert seen.abs().max() <= 10


def test_a_nearly_flat_window_is_not_blown_up() -> None:
    seen = WindowView(DetectorConfig())(1e-3 * windows(2))
    assert seen.abs().max() < 0.1


@pytest.mark.parametrize("name", CONFIGS)
def test_an_exported_graph_gives_the_same_logits_for_another_number_of_windows(name: str) -> None:
    network = built(CONFIGS[name])
    batch = torch.export.Dim("batch", min=2, max=1024)
    program = torch.export.export(network, (windows(4),), dynamic_shapes=({0: batch},))
    with torch.no_grad():
        torch.testing.assert_close(program.module()(windows(7)), network(windows(7)))


def test_the_detector_is_the_mean_of_its_members() -> None:
    network = built(DetectorConfig(members=3))
    single = torch.stack([member(windows(2)) for member in network.members])
    torch.testing.assert_close(network(windows(2)), single.mean(dim=0))
    assert not torch.equal(single[0], single[1])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_survives_json(name: str) -> None:
    written = json.dumps(CONFIGS[name].to_dict())
    assert DetectorConfig.from_dict(json.loads(written)) == CONFIGS[name]


def test_a_configuration_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ArtifactError, match="colour"):
        DetectorConfig.from_dict({**DetectorConfig().to_dict(), "colour": "red"})


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("patch", 3, "divisor of the window"),
        ("kernel", 4, "odd"),
        ("network", "lstm", "tcn or transformer"),
        ("view", "median", "window, series or both"),
        ("stride", 300, "1 to the window"),
        ("batch", 31, "even"),
        ("members", 0, "at least 1"),
        ("epochs", 0, "at least 1"),
    ],
)
def test_a_wrong_setting_names_its_remedy(name: str, value: object, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        DetectorConfig(**{name: value})  # type: ignore[arg-type]
