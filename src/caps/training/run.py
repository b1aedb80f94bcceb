"""One stage in training: its weights, optimiser, weight average and curves, step by step.

Lightning Fabric and the decorators of torch's optimisers import torch's compiler, which takes a
second and more: training in this process alone does without.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from inspect import unwrap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from caps.artifacts import Arrays
from caps.errors import CapsError, InputError
from caps.training.randomness import CPU, seeded
from caps.training.schedule import Schedule

if TYPE_CHECKING:
    from lightning_fabric import Fabric


Value = TypeVar("Value")


class Alone:
    """What `Run` asks of a Fabric, for one process on the CPU in full precision."""

    device, world_size, global_rank, is_global_zero = CPU, 1, 0, True

    def setup(
        self, stage: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[nn.Module, torch.optim.Optimizer]:
        """Both as they are."""
        return stage, optimizer

    def to_device(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The batch where it is."""
        return batch

    def backward(self, loss: Tensor) -> None:
        """The gradients of the loss."""
        torch.autograd.backward(loss)

    def clip_gradients(
        self, stage: nn.Module, optimizer: torch.optim.Optimizer, **limits: Any
    ) -> Tensor:
        """The norm of the gradients, before they are cut to the largest that is allowed."""
        return nn.utils.clip_grad_norm_(stage.parameters(), **limits)

    def barrier(self) -> None:
        """Nobody has to be waited for."""

    def all_reduce(self, figures: Tensor) -> Tensor:
        """The mean of one process."""
        return figures

    def broadcast(self, value: Value) -> Value:
        """What the first process has: this one."""
        return value


class Adam(torch.optim.Adam):
    """Torch's own steps, without the decorators."""

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Move the parameters by their gradients."""
        unwrap(torch.optim.Adam.step)(self)


Batches = Callable[[int, np.random.Generator], dict[str, Tensor]]
POINTS = 400  # of each loss curve: enough to draw, small enough for a manifest


class DivergedError(CapsError):
    """A loss or a gradient is no longer a finite number."""


class Stop(NamedTuple):
    """Why a process wants to end the sitting after this step."""

    over: bool = False  # the time budget is used up
    interrupted: bool = False

    def __bool__(self) -> bool:
        return self.over or self.interrupted


class Mean:
    """The mean of named values since it was last taken."""

    def __init__(self) -> None:
        self.totals: dict[str, float] = {}
        self.count = 0

    def add(self, values: Mapping[str, float]) -> None:
        """Count one more set of values; the names are the same every time."""
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + value
        self.count += 1

    def take(self) -> dict[str, float]:
        """Give the means and start anew."""
        means = {name: total / self.count for name, total in self.totals.items()}
        self.totals, self.count = {}, 0
        return means


class Curves:
    """Loss curves of at most `POINTS` points: each is the mean over an interval of steps.

    >>> curves = Curves(steps=800)
    >>> for step in range(1, 5):
    ...     curves.add(step, {"loss": float(step)})
    >>> curves.points
    {'step': [2, 4], 'loss': [1.5, 3.5]}
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.interval = -(-steps // POINTS)
        self.points: dict[str, list[float]] = {"step": []}
        self.mean = Mean()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Take in the losses of `step`, counted from 1."""
        self.mean.add(values)
        if step % self.interval == 0 or step == self.steps:
            self.points["step"].append(step)
            for name, value in self.mean.take().items():
                self.points.setdefault(name, []).append(value)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as JSON."""
        return {"points": self.points, "totals": self.mean.totals, "count": self.mean.count}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.points = {name: list(values) for name, values in state["points"].items()}
        self.mean.totals, self.mean.count = dict(state["totals"]), state["count"]


class WeightAverage:
    """Exponential moving average of the trained weights and of the running statistics."""

    def __init__(self, stage: nn.Module, decay: float) -> None:
        self.decay = decay
        weights = {name: p for name, p in stage.named_parameters() if p.requires_grad}
        # Statistics of BatchNorm belong to the weights they were measured with. A buffer with
        # infinities is a constant, and its average would be NaN.
        statistics = {
            name: buffer
            for name, buffer in stage.named_buffers()
            if buffer.is_floating_point() and bool(buffer.isfinite().all())
        }
        self.live = {name: tensor.detach() for name, tensor in {**weights, **statistics}.items()}
        self.values = {name: tensor.clone() for name, tensor in self.live.items()}

    def update(self, step: int) -> None:
        """Move towards the weights after `step` steps; faster early on, to forget the first."""
        decay = min(self.decay, step / (step + 9))
        torch._foreach_lerp_([*self.values.values()], [*self.live.values()], 1 - decay)

    def copy_to_stage(self) -> None:
        """Overwrite the stage's weights with their average."""
        for name, tensor in self.live.items():
            tensor.copy_(self.values[name])


class Run:
    """The state of one stage in training; `advance` makes one step."""

    def __init__(
        self,
        stage: nn.Module,
        schedule: Schedule,
        *,
        seed: int,
        name: str,
        fabric: "Fabric | Alone",
    ) -> None:
        self.stage, self.schedule, self.fabric = stage, schedule, fabric
        self.seed, self.name = seed, name
        self.trained = {name: p for name, p in stage.named_parameters() if p.requires_grad}
        if not self.trained:
            raise InputError(f"stage {name} has no parameter to train", "unfreeze one")
        optimizer = Adam(self.trained.values(), lr=schedule.learning_rate, fused=True)
        self.model: nn.Module
        self.optimizer: torch.optim.Optimizer
        self.model, self.optimizer = fabric.setup(stage, optimizer)
        self.average = WeightAverage(stage, schedule.ema) if schedule.ema > 0 else None
        self.curves = Curves(schedule.steps)
        self.step = 0
        self.seconds = 0.0

    @property
    def finished(self) -> bool:
        """Whether every step of the schedule has been made."""
        return self.step >= self.schedule.steps

    def advance(self, batches: Batches, stop: Stop) -> tuple[dict[str, float], Stop]:
        """Make one step; give the losses and whether any process wants to stop after it."""
        key = (self.name, self.step, self.fabric.global_rank)
        with seeded(self.seed, *key, device=self.fabric.device) as generator:
            batch = self.fabric.to_device(batches(self.schedule.batch, generator))
            losses = self.model(batch)
            if "loss" not in losses:
                raise InputError(
                    f"stage {self.name} returns {sorted(losses)}", "return what to minimise as loss"
                )
            self.fabric.backward(losses["loss"])
        norm = self.fabric.clip_gradients(
            self.model,
            self.optimizer,
            max_norm=self.schedule.clip or math.inf,
            error_if_nonfinite=False,
        )
        assert norm is not None  # only clipping by value has none
        figures, stop = self._agree({**losses, "gradient norm": norm}, stop)
        self._check_finite(figures)
        del figures["gradient norm"]
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate_at(self.step)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        self.curves.add(self.step, figures)
        return figures, stop

    def _agree(self, figures: Mapping[str, Tensor], stop: Stop) -> tuple[dict[str, float], Stop]:
        """Average the figures over the processes and stop all as soon as one wants to.

        One message a step: processes that decided alone would wait for each other for ever.
        """
        message = torch.stack([value.detach().float() for value in figures.values()])
        if self.fabric.world_size == 1:
            return dict(zip(figures, message.tolist(), strict=True)), stop
        message = torch.cat([message, message.new_tensor(stop)])
        self.fabric.all_reduce(message)  # in place, the mean
        *means, over, interrupted = message.tolist()
        return dict(zip(figures, means, strict=True)), Stop(over > 0, interrupted > 0)

    def _check_finite(self, figures: Mapping[str, float]) -> None:
        wrong = [f"{name} {value}" for name, value in figures.items() if not math.isfinite(value)]
        if wrong:
            raise DivergedError(
                f"stage {self.name} diverged at step {self.step} ({', '.join(wrong)})",
                "lower the learning rate or look at the batches; the last checkpoint is kept",
            )

    def configuration(self) -> dict[str, Any]:
        """What has to be equal for a checkpoint to go on as if never stopped, as JSON."""
        schedule = asdict(self.schedule)
        del schedule["checkpoint_seconds"]
        shapes = {name: [*tensor.shape] for name, tensor in self.stage.state_dict().items()}
        return {
            "name": self.name,
            "seed": self.seed,
            "number of processes": self.fabric.world_size,
            "schedule": schedule,
            "network": {"shapes": shapes, "trained": [*self.trained]},
        }

    def facts(self) -> dict[str, Any]:
        """The part of a checkpoint that is JSON."""
        return {"seconds": self.seconds, "curves": self.curves.state()}

    def arrays(self) -> dict[str, Arrays]:
        """The part of a checkpoint that is arrays: raw weights, Adam's moments, average."""
        moments = self.optimizer.state_dict()["state"]
        names = [*self.trained]
        adam = {
            f"{names[index]}/{moment}": value
            for index, state in moments.items()
            for moment, value in state.items()
        }
        average = {} if self.average is None else self.average.values
        groups = {"weights": self.stage.state_dict(), "adam": adam, "average": average}
        return {
            group: {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
            for group, tensors in groups.items()
        }

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> None:
        """Go on from a checkpoint of the same configuration."""
        self.step, self.seconds = facts["step"], facts["seconds"]
        self.curves.restore(facts["curves"])
        weights = self.stage.state_dict()
        for name, tensor in weights.items():
            tensor.copy_(torch.tensor(arrays["weights"][name]).reshape(tensor.shape))
        state: dict[int, dict[str, Tensor]] = {}
        for index, (name, parameter) in enumerate(self.trained.items()):
            if f"{name}/step" not in arrays["adam"]:
                continue  # no loss has used this parameter yet
            for moment in ("step", "exp_avg", "exp_avg_sq"):
                value = torch.tensor(arrays["adam"][f"{name}/{moment}"])
                shape = () if moment == "step" else parameter.shape
                state.setdefault(index, {})[moment] = value.reshape(shape)
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        if self.average is not None:
            for name, tensor in self.average.values.items():
                tensor.copy_(torch.tensor(arrays["average"][name]).reshape(tensor.shape))

    def leave(self) -> None:
        """Put the averaged weights into the stage, equal in every process, ready for use."""
        if self.average is not None:
            self.average.copy_to_stage()
        if self.fabric.world_size > 1:  # BatchNorm has seen other batches in every process
            own = {name: buffer.cpu() for name, buffer in self.stage.named_buffers()}
            first = self.fabric.broadcast(own)
            for name, buffer in self.stage.named_buffers():
                buffer.copy_(first[name])
        self.stage.eval()
