"""Training in this process alone, without what takes a second and more to import.

Lightning Fabric and the decorators of torch's optimisers import torch's compiler, which nothing
here uses: the fit of a detector would wait for it.
"""

from inspect import unwrap
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from caps.training.randomness import CPU

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
