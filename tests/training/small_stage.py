"""A small stage with every kind of state, and a program that trains it, to be killed by tests."""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from caps.training import Schedule, TrainingResult, seeded, start_fabric, train

SCHEDULE = Schedule(
    steps=60, batch=16, learning_rate=0.02, warmup=5, decay="cosine", ema=0.9, checkpoint_seconds=0
)


class SmallStage(nn.Module):
    """Regression with dropout, noise, batch statistics, a frozen parameter and a constant."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(4, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1)
        )
        self.head = nn.Linear(width, 1)
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)
        self.register_buffer("bounds", torch.tensor([-torch.inf, torch.inf]))

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        hidden = self.network(batch["x"] + 0.01 * torch.randn_like(batch["x"]))
        error = self.head(hidden).squeeze(1) - batch["y"]
        return {"loss": error.square().mean(), "absolute": error.abs().mean()}


def batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
    x = torch.from_numpy(generator.standard_normal((size, 4), dtype=np.float32))
    return {"x": x, "y": x[:, 0] - 2 * x[:, 1]}


def small_stage(width: int = 8) -> SmallStage:
    with seeded(1, "first weights"):
        return SmallStage(width)


def state_of(stage: nn.Module) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in stage.state_dict().items()}


def newest_step(folder: Path) -> int:
    return max((int(path.name[5:]) for path in folder.glob("small/step-*")), default=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--hold", type=int, help="step to wait at, for a file `go` in the folder")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seen: list[float] = []
    first = newest_step(options.folder)

    def held_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        if options.hold is not None and first + len(seen) >= options.hold:
            while not (options.folder / "go").exists():
                time.sleep(0.01)
        batch = batches(size, generator)
        seen.append(batch["x"].sum().item())
        return batch

    stage = small_stage()
    fabric = start_fabric(devices=options.devices)
    result: TrainingResult = train(
        stage,
        held_batches,
        SCHEDULE,
        seed=3,
        name="small",
        folder=Path(str(options.folder).replace("RANK", f"rank-{fabric.global_rank}")),
        resume=options.resume,
        fabric=fabric,
    )
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        report = {**asdict(result), "seen": seen, "processes": fabric.world_size}
        (options.out / f"rank-{fabric.global_rank}.json").write_text(json.dumps(report))
        np.savez(options.out / f"rank-{fabric.global_rank}.npz", **state_of(stage))


if __name__ == "__main__":
    main()
