"""TCN references that expect values: by reconstruction (TCN-AE) or by forecast (TCN-Forecast).

Both see a window by its own level and std, as CAPS's detector does; their error is scored in
units of the training part, so that quiet windows do not blow up.
"""

from dataclasses import replace

import numpy as np
import torch
from einops import rearrange
from torch import Tensor, nn

from caps.arrays import FloatArray
from caps.baselines.tcn import TcnReference
from caps.network import DetectorConfig, DilatedBlock, TcnDetector
from caps.recover import References
from caps.series import reassemble, sliding_windows
from caps.training import Batches, Convolution, Schedule, TransposedConvolution, seeded, train

STEPS = 400  # twice the detector's: the loss of a regression falls more slowly
CODE, POOL = 4, 8  # 4 numbers for 8 patches of 4 steps: an eighth of the window
BATCH = 256  # windows scored at once

Networks = list[nn.Module]


class Autoencoder(TcnDetector):
    """The detector's backbone, a bottleneck in time and width, and a mirrored decoder."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__(config)
        self.squeeze = Convolution(config.width, CODE, POOL, stride=POOL)
        self.expand = TransposedConvolution(CODE, config.width, POOL, stride=POOL)
        self.decoder = nn.Sequential(
            *(
                DilatedBlock(
                    config.width, kernel=config.kernel, dilation=dilation, dropout=config.dropout
                )
                for dilation in reversed(config.dilations)
            )
        )

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time)
        code = self.squeeze(self.features(x))
        drawn: Tensor = self.head(self.decoder(self.expand(code)))
        return rearrange(drawn, "batch step 1 patch -> batch (patch step)")


class Forecaster(TcnDetector):
    """The detector's backbone; its last patch gives the next steps."""

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, patch)
        following: Tensor = self.head(self.features(x)[..., -1:])
        return following[:, :, 0, 0]


class TcnAutoencoder(TcnReference[Networks]):
    """How badly a row fits the reconstruction of the windows around it."""

    def learn(self, references: References, column: int) -> Networks:
        """Train to reconstruct the references."""
        return _trained(Autoencoder, self.config, _windows(references), self.seed + column)

    def judge(self, learned: Networks, values: FloatArray) -> FloatArray:
        """The error of the windows that hold a row, mostly of those with it in the middle."""
        windows = sliding_windows(values, self.config.window, self.config.stride)
        error = np.concatenate(
            [_error(learned, batch, batch, self.config) for _, batch in windows.batches(BATCH)]
        )
        return reassemble(error, windows.starts, len(values), "hann")


class TcnForecast(TcnReference[Networks]):
    """How badly a row fits what was expected after the window before it."""

    def learn(self, references: References, column: int) -> Networks:
        """Train to forecast the last steps of the references from what is before them."""
        batches = _windows(references, following=self.config.patch)
        return _trained(Forecaster, self.config, batches, self.seed + column)

    def judge(self, learned: Networks, values: FloatArray) -> FloatArray:
        """The error of the forecast; the first rows follow a mirror image of themselves."""
        window, step = self.config.window, self.config.patch
        rows = -(-len(values) // step) * step
        before = np.resize(np.concatenate([values, values[::-1]]), window)[::-1]
        padded = np.concatenate([before, values, np.full(rows - len(values), values[-1])])
        view = np.lib.stride_tricks.sliding_window_view(padded, window + step)[::step]
        parts = (view[first : first + BATCH] for first in range(0, len(view), BATCH))
        errors = [
            _error(learned, part[:, :window], part[:, window:], self.config) for part in parts
        ]
        return np.concatenate(errors).ravel()[: len(values)]


def _trained(
    kind: type[TcnDetector], config: DetectorConfig, batches: Batches, seed: int
) -> Networks:
    config = replace(config, view="window")
    schedule = Schedule(max(STEPS, config.steps), config.batch, config.learning_rate)
    networks: Networks = []
    for number in range(config.members):
        with seeded(seed, f"regression-{number}"):
            network = kind(config)
        train(
            _Regression(network, config), batches, schedule, seed=seed, name=f"regression-{number}"
        )
        networks.append(network.eval().requires_grad_(False))
    return networks


class _Regression(nn.Module):
    """Mean squared error over trusted points, in units of the window that is seen."""

    def __init__(self, network: nn.Module, config: DetectorConfig) -> None:
        super().__init__()
        self.network, self.config = network, config

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        seen, trusted = batch["seen"], batch["trusted"]
        level, std = _units(seen, self.config)
        clip = self.config.clip
        target = ((batch["target"] - level) / std).clamp(-clip, clip)
        error = (self.network(seen) - target).square()
        return {"loss": (error * trusted).sum() / trusted.sum().clamp(min=1)}


def _windows(references: References, following: int = 0) -> Batches:
    """Whole windows to reconstruct, or windows whose last rows follow what is seen."""
    windows = torch.from_numpy(np.ascontiguousarray(references.windows, dtype=np.float32))
    trusted = torch.from_numpy(references.trusted.astype(np.float32))

    def batch(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        drawn = generator.integers(len(windows), size=size)
        seen, target, trust = windows[drawn], windows[drawn], trusted[drawn]
        if following:
            # As many rows before the window as follow it, held: the length seen stays the same.
            held = seen[:, :1].expand(-1, following)
            target, trust = target[:, -following:], trust[:, -following:]
            seen = torch.cat([held, seen[:, :-following]], dim=1)
        return {"seen": seen, "target": target, "trusted": trust}

    return batch


@torch.inference_mode()
def _error(
    networks: Networks, seen: FloatArray, target: FloatArray, config: DetectorConfig
) -> FloatArray:
    """Absolute errors in the units of the scaled series, the mean of all networks."""
    given = torch.from_numpy(seen.astype(np.float32))
    level, std = _units(given, config)
    expected = torch.stack([network(given) for network in networks]).mean(dim=0)
    wanted = torch.from_numpy(target.astype(np.float32))
    return np.asarray((expected * std + level - wanted).abs().numpy(), dtype=np.float64)


def _units(seen: Tensor, config: DetectorConfig) -> tuple[Tensor, Tensor]:
    """Level and std of windows, as `WindowView` scales by them."""
    level = seen.mean(dim=-1, keepdim=True)
    std = (seen - level).square().mean(dim=-1, keepdim=True).sqrt()
    return level, std.clamp(min=config.std_floor)
