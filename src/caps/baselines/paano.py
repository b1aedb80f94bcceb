"""PaAno (Park and Kang 2026), alone and with the scores of PAI (Zhang et al. 2026).

A small convolutional network learns to embed patches of the training part, each by its own mean
and std: neighbours in time shall lie close, the least alike of a batch far. A row is as odd as the
patches that hold it are far from a bank of training patches. What a patch is told without, its
level, PAI adds: how far the row, and the mean around it, are from the median of training.

Written from both papers and their published settings. Two things differ: the learning rate ends at
0 (theirs at a tenth), and the bank is made of at most 10,000 training patches.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor, nn
from torch.nn import functional

from caps.arrays import FloatArray
from caps.baselines.patch_bank import Metric, PatchBank, amplitude, local_amplitude
from caps.baselines.protocol import bridged, checked, scorable
from caps.series import pad_short, reassemble
from caps.training import Batches, Schedule, seeded, train

FLAT = 1e-5  # variance added to that of a patch, so that flat ones can be divided
CHUNK = 1024  # patches embedded at once


@dataclass(frozen=True, slots=True)
class PatchConfig:
    """The published settings for one channel."""

    patch: int = 64  # rows
    widths: tuple[int, ...] = (128, 256, 128, 64)  # of the convolutions; the last is the embedding
    kernels: tuple[int, ...] = (7, 5, 3, 3)
    projection: int = 256  # width of the head that the triplets are compared in
    steps: int = 200
    batch: int = 512
    learning_rate: float = 1e-4
    shift: int = 2  # rows, at most, between a patch and the one that shall lie close
    margin: float = 0.5
    adjacent: float = 0.1  # share of the steps that also tell adjacent patches from others
    others: int = 5  # for each adjacent patch
    around: int = 32  # rows on either side that a local mean is taken over
    weights: tuple[float, float, float] = (0.6, 0.4, 0.2)  # PAI: patches, row, local mean


class PatchEncoder(nn.Module):
    """Patches (batch, channel, time) to embeddings (batch, width)."""

    def __init__(self, channels: int, config: PatchConfig) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        for width, kernel in zip(config.widths, config.kernels, strict=True):
            convolution = nn.Conv1d(channels, width, kernel, padding=kernel // 2, bias=False)
            blocks += [convolution, nn.BatchNorm1d(width), nn.ReLU()]
            channels = width
        self.blocks = nn.Sequential(*blocks)

    def forward(self, patches: Tensor) -> Tensor:
        level = patches.mean(dim=2, keepdim=True)
        variance = patches.var(dim=2, keepdim=True, unbiased=False)
        embedded: Tensor = self.blocks((patches - level) / (variance + FLAT).sqrt()).mean(dim=2)
        return embedded


class _Triplets(nn.Module):
    """The encoder's losses: triplets all along, adjacent patches at the beginning."""

    def __init__(self, encoder: PatchEncoder, config: PatchConfig) -> None:
        super().__init__()
        width = config.widths[-1]
        self.encoder, self.config = encoder, config
        self.head = nn.Sequential(
            nn.Linear(width, config.projection),
            nn.ReLU(),
            nn.Linear(config.projection, config.projection),
        )
        self.adjacency = nn.Linear(2 * width, 1)
        self.step = 0

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        anchor, near = self.encoder(batch["anchor"]), self.encoder(batch["near"])
        loss = _triplet_loss(self.head(anchor), self.head(near), self.config.margin)
        weight = max(0.0, 1 - self.step / max(1.0, self.config.adjacent * self.config.steps))
        self.step += 1
        if weight > 0 and bool(batch["has_before"].any()):
            loss = loss + weight * self._adjacency_loss(batch, anchor)
        return {"loss": loss}

    def _adjacency_loss(self, batch: dict[str, Tensor], anchor: Tensor) -> Tensor:
        there = batch["has_before"]
        before = self.encoder(batch["before"][there])
        count = len(anchor)
        own = torch.arange(count).repeat_interleave(self.config.others)
        other = (own + torch.randint(1, max(2, count), (len(own),))) % count
        right = self.adjacency(torch.cat([anchor[there], before], dim=1))
        wrong = self.adjacency(torch.cat([anchor[own], anchor[other]], dim=1))
        told = functional.binary_cross_entropy_with_logits
        return told(right, torch.ones_like(right)) + told(wrong, torch.zeros_like(wrong))


class PaAno:
    """How far the patches that hold a row are from those of the training part.

    With `amplitude` the scores of PAI are added, all three in units of the training part.
    """

    channels: int | None = None

    def __init__(self, seed: int, amplitude: str = "", config: PatchConfig | None = None) -> None:
        self.seed, self.amplitude = seed, bool(amplitude)
        self.config = config or PatchConfig()

    def fit(self, train: FloatArray) -> Self:
        """Train the encoder and fill the bank."""
        rows = bridged(checked(train))
        self.channels = rows.shape[1]
        patches = _patches(rows, self.config.patch)
        self.encoder = _trained(patches, self.config, self.seed)
        metric: Metric = "euclidean" if self.amplitude else "cosine"
        self.bank = PatchBank.fill(self._embedded(patches), metric, self.seed)
        self.train = rows
        if self.amplitude:
            parts = self._parts(rows)
            self.level, std = parts.mean(axis=1), parts.std(axis=1)
            self.std = np.where(std > 0, std, 1.0)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """One score a row."""
        series = scorable(series, self.channels)
        if not self.amplitude:
            return self._distances(series)
        parts = (self._parts(series) - self.level[:, None]) / self.std[:, None]
        return np.asarray(self.config.weights @ parts)

    def _parts(self, series: FloatArray) -> FloatArray:
        """Of patches, rows and local means (3, time)."""
        return np.stack(
            [
                self._distances(series),
                amplitude(series, self.train),
                local_amplitude(series, self.train, self.config.around),
            ]
        )

    def _distances(self, series: FloatArray) -> FloatArray:
        """The mean over the patches that hold a row of their distance from the bank."""
        patches = _patches(series, self.config.patch)
        distance = self.bank.distance(self._embedded(patches))
        rows = len(patches) + self.config.patch - 1
        each = np.broadcast_to(distance[:, None], (len(distance), self.config.patch))
        on_rows = reassemble(each, np.arange(len(distance)), rows, "flat")
        return on_rows[rows - len(series) :]

    @torch.inference_mode()
    def _embedded(self, patches: FloatArray) -> FloatArray:
        parts = (patches[first : first + CHUNK] for first in range(0, len(patches), CHUNK))
        found = [self.encoder(_tensor(part)).numpy() for part in parts]
        return np.concatenate(found).astype(np.float64)


def _patches(rows: FloatArray, size: int) -> FloatArray:
    """Every patch (n, channel, time), at least one; no copy."""
    return sliding_window_view(pad_short(rows, size), size, axis=0)


def _trained(patches: FloatArray, config: PatchConfig, seed: int) -> PatchEncoder:
    with seeded(seed, "paano"):
        encoder = PatchEncoder(patches.shape[1], config)
        losses = _Triplets(encoder, config)
    schedule = Schedule(
        config.steps, min(config.batch, len(patches)), config.learning_rate, decay="cosine"
    )
    train(losses, _batches(patches, config), schedule, seed=seed, name="paano")
    return encoder.eval().requires_grad_(False)


def _batches(patches: FloatArray, config: PatchConfig) -> Batches:
    """Patches, one at most `shift` rows away from each, and the one that ends where it begins."""
    last = len(patches) - 1

    def batch(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        anchor = generator.permutation(last + 1)[:size]
        away = generator.integers(1, config.shift + 1, size) * generator.choice([-1, 1], size)
        near = np.where(
            (anchor + away >= 0) & (anchor + away <= last), anchor + away, anchor - away
        )
        before = anchor - config.patch
        return {
            "anchor": _tensor(patches[anchor]),
            "near": _tensor(patches[np.clip(near, 0, last)]),
            "before": _tensor(patches[np.maximum(before, 0)]),
            "has_before": torch.from_numpy(before >= 0),
        }

    return batch


def _triplet_loss(anchor: Tensor, near: Tensor, margin: float) -> Tensor:
    """By cosine distance; the negative of each anchor is the least alike of the others."""
    alike = functional.normalize(anchor, dim=1) @ functional.normalize(near, dim=1).T
    own = alike.diagonal()
    unlike = torch.eye(len(alike), dtype=torch.bool)
    least = alike.masked_fill(unlike, torch.inf).min(dim=1).values.clamp(max=1.0)
    return functional.relu(least - own + margin).mean()


def _tensor(patches: FloatArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(patches, dtype=np.float32))
