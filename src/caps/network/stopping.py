"""When a detector has learned enough: as long as held-out counterparts are told better."""

import copy
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn


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
