"""Training of the detector on recovered pairs: (x, 0) and (x + r^, m) with equal weight.

It may end when held-out counterparts are told no better. Several outputs are made comparable: each
is -log of the p-value on rows held out. An upper share of the logits of normal points is taken as
exponential, so that -log p is linear in the logit: it becomes part of the last layer's weights, and
the network stays the same function for torch, numpy and ONNX. The largest output is then the
smallest p-value, less the logarithm of how many there are (Bonferroni).
"""

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.jobs import in_torch_threads
from caps.network.config import DetectorConfig, Weighting
from caps.network.detector import Detector
from caps.network.networks import TcnDetector, TransformerDetector
from caps.training import Progress, Schedule, seeded, train

if TYPE_CHECKING:
    from caps.recover import PairSet  # a saved detector scores without loading the generator


class Held:
    """The loss on pairs that nothing is learned from, and the weights for which it was smallest."""

    def __init__(
        self, loss: nn.Module, batch: Mapping[str, Tensor], *, patience: int, most: int
    ) -> None:
        self.loss, self.patience = loss, patience
        count = len(batch["counterpart"])
        chosen = torch.linspace(0, count - 1, min(count, most)).round().long()
        self.batch = {name: tensor[chosen] for name, tensor in batch.items()}
        self.smallest, self.worse = float("inf"), 0
        self.best = copy.deepcopy(loss.state_dict())

    def after(self, steps: int) -> Callable[[int], bool]:
        """Looks once in so many steps; whether the loss has not fallen for too long."""

        def enough(step: int) -> bool:
            return step % steps == 0 and self._look()

        return enough

    def restore(self) -> None:
        """Give the network its best weights."""
        self.loss.load_state_dict(self.best)

    @torch.no_grad()
    def _look(self) -> bool:
        self.loss.eval()  # statistics of training: those of these pairs must not enter
        found = float(self.loss(self.batch)["loss"])
        self.loss.train()
        if found < self.smallest:
            self.smallest, self.worse = found, 0
            self.best = copy.deepcopy(self.loss.state_dict())
        else:
            self.worse += 1
        return self.worse >= self.patience


SILENT = -1e4  # logit of an output that no counterpart has taught
BATCH = 64  # windows at once


@torch.no_grad()
def calibrate_outputs(
    network: nn.Module,
    references: Tensor,  # (n, time)
    trusted: Tensor,
    used: Sequence[int],
    config: DetectorConfig,
) -> None:
    """Scale the last layer so that every used output is -log p of normal points, corrected."""
    assert isinstance(network, TcnDetector | TransformerDetector)
    last = network.head if isinstance(network.head, nn.Conv1d) else network.head[-1]
    assert isinstance(last, nn.Conv1d | nn.Linear)
    assert last.bias is not None
    network.eval()
    logits = torch.cat([network.outputs(part) for part in torch.split(references, BATCH)])
    known = trusted > 0
    for output in range(config.outputs):
        own = slice(output * config.patch, (output + 1) * config.patch)
        if output not in used:
            last.weight[own] = 0.0
            last.bias[own] = SILENT
            continue
        level, scale = _tail(logits[:, output][known], config)
        # -log p = -log share + (logit - level) / scale
        offset = -math.log(config.output_share) - math.log(len(used)) - level / scale
        last.weight[own] /= scale
        last.bias[own] = last.bias[own] / scale + offset


def _tail(logits: Tensor, config: DetectorConfig) -> tuple[float, float]:
    """The level that the stated share of the logits exceeds, and by how much they do on average."""
    values = logits.double().sort().values
    level = float(values[min(int((1 - config.output_share) * len(values)), len(values) - 1)])
    beyond = values[values > level] - level
    scale = float(beyond.mean()) if len(beyond) else 0.0
    return level, max(scale, config.least_tail)


class DetectorLoss(nn.Module):
    """Averaged point-wise binary cross-entropy: the mean of each branch, then their mean.

    A pair trains the output of its own mode, where there are several.
    """

    def __init__(self, network: nn.Module, weighting: Weighting = "points") -> None:
        super().__init__()
        self.network, self.weighting = network, weighting

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        # reference, counterpart, support and trusted (batch, time); output (batch,)
        # Together, because one pass over twice the windows is cheaper than two passes.
        windows = torch.cat([batch["reference"], batch["counterpart"]])
        every = cast("Callable[[Tensor], Tensor]", self.network.outputs)
        outputs = every(windows)  # (2 * batch, output, time)
        own = batch["output"].repeat(2)
        logits = outputs[torch.arange(len(own), device=own.device), own]
        normal, anomalous = logits.chunk(2)
        support, trusted = batch["support"], batch["trusted"]
        reference = _cross_entropy(normal, torch.zeros_like(support), trusted)
        weight = trusted if self.weighting == "points" else _by_events(support, trusted)
        generated = _cross_entropy(anomalous, support, weight)
        loss = (reference + generated) / 2
        return {"loss": loss, "reference": reference, "generated": generated}


def _cross_entropy(logits: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean over the points."""
    entropy = nn.functional.binary_cross_entropy_with_logits(logits, label, reduction="none")
    return (entropy * weight).sum() / weight.sum().clamp(min=1)


def _by_events(support: Tensor, trusted: Tensor) -> Tensor:
    """Weights (batch, time) by which all supports together weigh as before, and each the same."""
    inside = support * trusted
    rows = inside.sum(dim=1, keepdim=True)
    return trusted - inside + inside * rows.mean() / rows.clamp(min=1)


def train_detector(
    pairs: "PairSet",
    config: DetectorConfig | None = None,
    seed: int = 0,
    *,
    held: "PairSet | None" = None,
    progress: Progress | None = None,
) -> Detector:
    """Train every member on the same pairs, each from its own seed; the result is ready to score.

    A step takes `config.batch` windows: counterparts drawn at random, and the reference of each.
    `held` are pairs of rows that nothing is learned from: they end the training and calibrate
    several outputs, where the configuration wants it. Without them the pairs themselves do.
    `progress` may be told from several threads.
    """
    config = config or DetectorConfig()
    _check(pairs, config)
    schedule = Schedule(
        steps=_steps(len(pairs.counterpart), config),
        batch=config.batch // 2,
        learning_rate=config.learning_rate,
    )
    batches = _Pairs(pairs, config.outputs)
    known = batches if held is None else _Pairs(held, config.outputs)
    numbers = range(config.members)
    # Dropout draws from the one generator that torch has: such members take turns.
    jobs = [[number] for number in numbers] if config.dropout == 0 else [numbers]
    with seeded(seed, "detector"):
        detector = Detector(config)
        training = _Training(detector, batches, known, schedule, seed, progress)
        for _ in in_torch_threads(training.train_members, jobs, training.stopped.set):
            pass
    return detector.eval().requires_grad_(False)


def _steps(pairs: int, config: DetectorConfig) -> int:
    if config.epochs is None:
        return config.steps
    return config.epochs * -(-pairs // (config.batch // 2))


class _Pairs:
    """A set of pairs as tensors."""

    def __init__(self, pairs: "PairSet", outputs: int) -> None:
        self.reference, self.counterpart, self.support, self.trusted = (
            torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
            for array in (pairs.reference, pairs.counterpart, pairs.support, pairs.trusted)
        )
        self.anchor = torch.from_numpy(np.ascontiguousarray(pairs.anchor))
        if outputs == 1:
            self.output = torch.zeros(len(self.counterpart), dtype=torch.int64)
            return
        if int(pairs.mode.max()) >= outputs - 1:
            raise InputError(
                f"{outputs} outputs for mode {int(pairs.mode.max())}",
                "give one for each mode, and one for effects by rule",
            )
        self.output = torch.from_numpy(np.where(pairs.mode < 0, outputs - 1, pairs.mode))

    def draw(self, size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        """A batch of pairs, drawn at random."""
        return self._batch(torch.from_numpy(generator.integers(len(self.counterpart), size=size)))

    def all(self) -> dict[str, Tensor]:
        """All pairs, as one batch."""
        return self._batch(torch.arange(len(self.counterpart)))

    def _batch(self, drawn: Tensor) -> dict[str, Tensor]:
        anchor = self.anchor[drawn]
        return {
            "reference": self.reference[anchor],
            "counterpart": self.counterpart[drawn],
            "support": self.support[drawn],
            "trusted": self.trusted[anchor],
            "output": self.output[drawn],
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """What the members of a detector have in common while they are trained, side by side."""

    detector: Detector
    batches: _Pairs
    known: _Pairs
    schedule: Schedule
    seed: int
    progress: Progress | None
    stopped: Event = field(default_factory=Event)

    def train_members(self, numbers: Iterable[int]) -> None:
        """Train these members, one after the other."""
        for number in numbers:
            self._train(number, self.detector.members[number])

    def _train(self, number: int, network: nn.Module) -> None:
        config = self.detector.config
        loss = DetectorLoss(network, config.weighting)
        watch = None
        if config.patience is not None:
            most, patience = config.held_pairs, config.patience
            watch = Held(loss, self.known.all(), patience=patience, most=most)
        looked = watch.after(config.check_every) if watch is not None else None
        train(
            loss,
            self.batches.draw,
            self.schedule,
            seed=self.seed,
            name=f"detector-{number}",
            progress=self.progress,
            enough=lambda step: self.stopped.is_set() or (looked is not None and looked(step)),
        )
        if watch is not None:
            watch.restore()
        if config.outputs > 1:
            used = np.unique(self.batches.output.numpy()).tolist()
            calibrate_outputs(network, self.known.reference, self.known.trusted, used, config)


def _check(pairs: "PairSet", config: DetectorConfig) -> None:
    if len(pairs.counterpart) == 0:
        raise InputError("there is no pair to learn from", "recover at least one counterpart")
    if pairs.counterpart.shape[1] != config.window:
        raise InputError(
            f"pairs of {pairs.counterpart.shape[1]} steps for a detector of {config.window}",
            "give the detector the window of the pairs",
        )
    for name in ("reference", "counterpart"):
        if not np.isfinite(getattr(pairs, name)).all():
            raise InputError(f"a {name} holds values that are not finite", "bridge gaps first")
