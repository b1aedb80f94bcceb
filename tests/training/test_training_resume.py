import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_stage as small
import torch
from small_stage import newest_step
from torch import Tensor

from caps.artifacts import read_folder
from caps.errors import ArtifactError, InputError
from caps.training import TrainingResult, train
from patience import wait_until

PROGRAM = Path(small.__file__)


def run(
    folder: Path | None, resume: bool = False, minutes: float | None = None
) -> tuple[dict[str, np.ndarray], TrainingResult]:
    stage = small.small_stage()
    result = train(
        stage,
        small.batches,
        small.SCHEDULE,
        seed=3,
        name="small",
        folder=folder,
        resume=resume,
        minutes=minutes,
    )
    return small.state_of(stage), result


def assert_same_bits(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), name


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted_bit_for_bit(tmp_path: Path) -> None:
    uninterrupted, whole = run(tmp_path / "whole")
    folder = tmp_path / "killed"
    for resume, step, hold in ((False, 10, 20), (True, 30, 45)):
        command = [sys.executable, PROGRAM, folder, "--hold", str(hold)]
        with subprocess.Popen([*command, *(["--resume"] if resume else [])]) as process:
            wait_until(
                lambda step=step, process=process: (
                    process.poll() is not None or newest_step(folder) >= step
                ),
                f"step {step}",
            )
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert step <= newest_step(folder) <= hold
    resumed, result = run(folder, resume=True)
    assert_same_bits(resumed, uninterrupted)
    assert result.finished
    assert result.curves == whole.curves
    last = f"small/step-{small.SCHEDULE.steps:08d}"
    kind = {"kind": "training checkpoint", "version": 1}
    _, arrays = read_folder(folder / last, **kind)
    _, expected = read_folder(tmp_path / "whole" / last, **kind)
    for group in ("weights", "adam", "average"):
        assert_same_bits(arrays[group], expected[group])
    assert [path.name for path in (folder / "small").iterdir()] == [Path(last).name]


def test_many_sittings_equal_one(tmp_path: Path) -> None:
    whole, whole_result = run(None)
    for sitting in range(1, 6):
        _, result = run(tmp_path, resume=True, minutes=0)
        assert (result.step, result.finished) == (sitting, False)
    pieces, result = run(tmp_path, resume=True, minutes=10)
    assert result.finished
    assert_same_bits(pieces, whole)
    assert result.curves == whole_result.curves


def test_a_finished_stage_is_not_trained_again(tmp_path: Path) -> None:
    trained, result = run(tmp_path)

    def no_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        raise AssertionError("trained again")

    stage = small.small_stage()
    again = train(
        stage, no_batches, small.SCHEDULE, seed=3, name="small", folder=tmp_path, resume=True
    )
    assert again == result
    assert_same_bits(small.state_of(stage), trained)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_stops_after_a_checkpoint(
    tmp_path: Path, number: signal.Signals, error: type[BaseException]
) -> None:
    calls = 0

    def interrupted_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        nonlocal calls
        calls += 1
        if calls == 7:
            signal.raise_signal(number)
        return small.batches(size, generator)

    schedule = replace(small.SCHEDULE, checkpoint_seconds=3600)
    handler = signal.getsignal(number)
    stage = small.small_stage()
    with pytest.raises(error):
        train(stage, interrupted_batches, schedule, seed=3, name="small", folder=tmp_path)
    assert newest_step(tmp_path) == 8  # one step after the signal tells all processes to stop
    assert signal.getsignal(number) is handler
    resumed, _ = run(tmp_path, resume=True)
    assert_same_bits(resumed, run(None)[0])


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Shells start background jobs with SIGINT ignored, and so would this process be."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_takes_effect_at_once(tmp_path: Path) -> None:
    def impatient_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("went on")

    with pytest.raises(KeyboardInterrupt):
        train(
            small.small_stage(),
            impatient_batches,
            small.SCHEDULE,
            seed=3,
            name="small",
            folder=tmp_path,
        )


@pytest.mark.parametrize(
    ("changes", "seed", "width", "said"),
    [
        ({"learning_rate": 0.5}, 3, 8, "another schedule .learning_rate: 0.02, now 0.5"),
        ({"steps": 61}, 3, 8, "another schedule .steps: 60, now 61"),
        ({}, 4, 8, "another seed .3, now 4"),
        ({}, 3, 9, r"another network .shapes: network.0.weight: \[8, 4\], now \[9, 4\]"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused(
    tmp_path: Path, changes: dict[str, float], seed: int, width: int, said: str
) -> None:
    run(tmp_path, minutes=0)
    schedule = replace(small.SCHEDULE, **changes)
    with pytest.raises(InputError, match=f"{said}.*: resume with the settings"):
        train(
            small.small_stage(width),
            small.batches,
            schedule,
            seed=seed,
            name="small",
            folder=tmp_path,
            resume=True,
        )


def test_how_often_checkpoints_are_written_may_change(tmp_path: Path) -> None:
    run(tmp_path, minutes=0)
    schedule = replace(small.SCHEDULE, checkpoint_seconds=5)
    stage = small.small_stage()
    train(stage, small.batches, schedule, seed=3, name="small", folder=tmp_path, resume=True)
    assert_same_bits(small.state_of(stage), run(None)[0])


def test_a_new_run_does_not_overwrite_an_old_checkpoint(tmp_path: Path) -> None:
    run(tmp_path, minutes=0)
    with pytest.raises(InputError, match="resume it or name another folder"):
        run(tmp_path)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    run(tmp_path, minutes=0)
    weights = tmp_path / "small" / "step-00000001" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ArtifactError, match="truncated or edited"):
        run(tmp_path, resume=True)


def test_leftovers_of_a_kill_while_writing_are_ignored_and_removed(tmp_path: Path) -> None:
    run(tmp_path, minutes=0)
    half = tmp_path / "small" / ".step-00000002.abc"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"half")
    resumed, _ = run(tmp_path, resume=True)
    assert not half.exists()
    assert_same_bits(resumed, run(None)[0])


def test_resume_wants_a_folder() -> None:
    with pytest.raises(InputError, match="give the folder"):
        run(None, resume=True)


def test_no_global_randomness_is_read_or_changed(tmp_path: Path) -> None:
    torch.manual_seed(11)
    first, _ = run(None)
    state = torch.get_rng_state()
    torch.manual_seed(12)
    second, _ = run(None)
    assert_same_bits(first, second)
    torch.manual_seed(11)
    assert torch.equal(torch.get_rng_state(), state)
