import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_stage as small
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.training import DivergedError, Schedule, seeded, start_fabric, train


def naive_training(stage: small.SmallStage, schedule: Schedule, seed: int, name: str) -> None:
    """The same training written plainly: what `train` has to equal."""
    trained = [p for p in stage.parameters() if p.requires_grad]
    averaged = [*trained, stage.network[1].running_mean, stage.network[1].running_var]
    average = [tensor.detach().clone() for tensor in averaged]
    optimizer = torch.optim.Adam(trained, foreach=False, fused=False)
    for step in range(schedule.steps):
        with seeded(seed, name, step, 0) as generator:
            loss = stage(small.batches(schedule.batch, generator))["loss"]
            loss.backward()
        norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
        for parameter in trained:
            parameter.grad *= min(1.0, schedule.clip / (norm + 1e-6))
        rate = schedule.learning_rate * min(1.0, (step + 1) / schedule.warmup)
        if step >= schedule.warmup:
            angle = math.pi * (step - schedule.warmup) / (schedule.steps - schedule.warmup)
            rate *= (1 + math.cos(angle)) / 2
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
        decay = min(schedule.ema, (step + 1) / (step + 10))
        average = [
            decay * old + (1 - decay) * new.detach()
            for old, new in zip(average, averaged, strict=True)
        ]
    for tensor, value in zip(averaged, average, strict=True):
        tensor.detach().copy_(value)


def test_training_equals_the_naive_loop() -> None:
    schedule = replace(small.SCHEDULE, steps=30, clip=0.3)
    stage, twin = small.small_stage(), small.small_stage()
    train(stage, small.batches, schedule, seed=5, name="twin")
    naive_training(twin, schedule, seed=5, name="twin")
    for name, tensor in twin.state_dict().items():
        torch.testing.assert_close(stage.state_dict()[name], tensor, rtol=1e-4, atol=1e-5)


def test_training_alone_equals_training_with_fabric_bit_by_bit() -> None:
    stage, twin = small.small_stage(), small.small_stage()
    train(stage, small.batches, small.SCHEDULE, seed=5, name="twin")
    train(twin, small.batches, small.SCHEDULE, seed=5, name="twin", fabric=start_fabric())
    for name, tensor in twin.state_dict().items():
        assert torch.equal(stage.state_dict()[name], tensor), name


def test_training_alone_does_not_wait_for_the_compiler_of_torch() -> None:
    code = (
        "import sys, small_stage as small; from caps.training import train;"
        "train(small.small_stage(), small.batches, small.SCHEDULE, seed=5, name='alone');"
        "print(sorted({'torch._dynamo', 'lightning_fabric'} & {*sys.modules}))"
    )
    folder = Path(small.__file__).parent
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert said.stdout.strip() == "[]"


def test_clipping_changes_the_result() -> None:
    stages = [small.small_stage(), small.small_stage()]
    for stage, clip in zip(stages, (0.0, 0.1), strict=True):
        train(stage, small.batches, replace(small.SCHEDULE, clip=clip), seed=5, name="clip")
    assert not torch.equal(stages[0].head.weight, stages[1].head.weight)


def test_the_loss_goes_down_and_the_stage_is_left_for_use() -> None:
    stage = small.small_stage()
    result = train(stage, small.batches, replace(small.SCHEDULE, steps=200), seed=0, name="small")
    assert result.curves["loss"][-1] < 0.2 * result.curves["loss"][0]
    assert not stage.training
    assert torch.equal(stage.frozen, torch.ones(3))
    assert all(parameter.grad is None for parameter in stage.parameters())


def test_name_and_seed_change_the_randomness() -> None:
    stages = []
    for seed, name in ((0, "a"), (0, "b"), (1, "a")):
        stage = small.small_stage()
        train(
            stage, small.batches, replace(small.SCHEDULE, steps=3, warmup=0), seed=seed, name=name
        )
        stages.append(stage.head.weight)
    assert not torch.equal(stages[0], stages[1])
    assert not torch.equal(stages[0], stages[2])


def test_a_parameter_that_no_loss_uses_survives_a_resume(tmp_path: Path) -> None:
    class Ablated(small.SmallStage):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Linear(2, 2)

    for steps in (1, 2):
        with seeded(0):
            stage = Ablated()
        sitting = {"folder": tmp_path, "resume": True, "minutes": 0}
        result = train(stage, small.batches, small.SCHEDULE, seed=0, name="ablated", **sitting)
        assert result.step == steps


class Diverging(small.SmallStage):
    """Its loss, or only its gradient, is not finite in the sixth step."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.calls = 0

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        losses = super().forward(batch)
        self.calls += 1
        if self.calls == 6 and self.what == "loss":
            losses["loss"] = losses["loss"] * torch.nan
        if self.calls == 6 and self.what == "gradient norm":
            losses["loss"] = losses["loss"] + (0 * self.head.bias).sqrt().sum()
        return losses


@pytest.mark.parametrize("what", ["loss", "gradient norm"])
def test_a_diverged_stage_says_so_and_keeps_its_checkpoint(tmp_path: Path, what: str) -> None:
    stage = Diverging(what)
    with pytest.raises(DivergedError, match=f"stage small diverged at step 5 .*{what} nan"):
        train(stage, small.batches, small.SCHEDULE, seed=0, name="small", folder=tmp_path)
    assert [path.name for path in (tmp_path / "small").iterdir()] == ["step-00000005"]
    assert all(bool(p.isfinite().all()) for p in stage.parameters())


def test_a_stage_has_to_name_its_loss() -> None:
    class Nameless(small.SmallStage):
        def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"reconstruction": super().forward(batch)["loss"]}

    with pytest.raises(InputError, match="return what to minimise as loss"):
        train(Nameless(), small.batches, small.SCHEDULE, seed=0, name="small")


def test_a_stage_without_parameters_is_refused() -> None:
    stage = small.small_stage().requires_grad_(False)
    with pytest.raises(InputError, match="no parameter to train"):
        train(stage, small.batches, small.SCHEDULE, seed=0, name="small")


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden"])
def test_a_name_has_to_fit_a_folder(name: str) -> None:
    with pytest.raises(InputError, match="a name that can be a folder's"):
        train(small.small_stage(), small.batches, small.SCHEDULE, seed=0, name=name)


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": 0},
        {"batch": 0},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"warmup": 61},
        {"decay": "linear"},
        {"ema": 1.0},
        {"clip": -1.0},
        {"checkpoint_seconds": -1.0},
    ],
)
def test_a_schedule_refuses_values_that_make_no_sense(changes: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(changes))} is .*: give"):
        replace(small.SCHEDULE, **changes)


def test_the_learning_rate_grows_then_falls() -> None:
    schedule = Schedule(steps=110, batch=1, learning_rate=2.0, warmup=10, decay="cosine")
    rates = np.array([schedule.rate_at(step) for step in range(110)])
    assert rates[9] == rates[10] == rates.max() == 2.0
    assert rates[60] == pytest.approx(1.0)
    assert 0 < rates[-1] < 0.01
    assert Schedule(steps=9, batch=1).rate_at(8) == 1e-3
