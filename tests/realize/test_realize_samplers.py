"""Samplers against denoisers whose right answer is known, and against naive twins."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.errors import InputError
from caps.realize import Sampler, preset_named, samplers
from caps.realize.experts import Denoiser, NoiseSchedule
from caps.realize.samplers import sample
from caps.realize.unet import Condition
from caps.training import seeded
from oracles import diffusion as naive

METHODS = ("ddpm", "ddim", "dpm++")
Estimate = Callable[[Tensor, float], Tensor]  # (r_tau, alpha-bar) -> clean residual


class Known:
    """A denoiser by formula; it notes the step and the draw of every call."""

    def __init__(self, estimate: Estimate, steps: int = 200, localised: bool = True) -> None:
        self.schedule = NoiseSchedule(steps)
        self.estimate = estimate
        self.localised = localised
        self.calls: list[tuple[int, Tensor]] = []

    def clean(self, r_tau: Tensor, tau: Tensor, given: Condition) -> Tensor:
        (step,) = set(tau.tolist())
        self.calls.append((step, r_tau))
        return self.estimate(r_tau, self.schedule.alpha_bar[step].item())


def supported(support: Tensor) -> Condition:
    nothing = torch.zeros(len(support), 1)
    return Condition(nothing, nothing, support, torch.zeros_like(support), nothing[:, 0])


def everywhere(rows: int, window: int) -> Condition:
    return supported(torch.ones(rows, window))


def noise_source(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def answered(rows: int, window: int, sampler: Sampler) -> tuple[Known, Tensor, Tensor]:
    """An oracle that always knows the same truth, the truth, and what the sampler made of it."""
    truth = torch.randn(rows, window, generator=noise_source(1)).clamp(-4, 4)
    oracle = Known(lambda r_tau, ab: truth)
    return oracle, truth, sample(oracle, everywhere(rows, window), sampler, noise_source())


def test_rows_that_are_estimated_in_parts_are_those_of_one_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preset = preset_named("tiny")
    with seeded(3, "parts"):
        denoiser = Denoiser(preset.realize, preset.represent).eval()
        widths = (preset.represent.structure, preset.represent.semantic)
        codes = [torch.randn(7, width) for width in widths]
        support = (torch.rand(7, preset.represent.window) < 0.5).float()
        given = Condition(*codes, support, torch.randn_like(support), torch.rand(7))
    whole = sample(denoiser, given, preset.sampler, noise_source())
    monkeypatch.setattr(samplers, "PART", 3)
    parts = sample(denoiser, given, preset.sampler, noise_source())
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", [2, 7, 20, 199, 200, 500])
@pytest.mark.parametrize("method", METHODS)
def test_an_oracle_is_asked_from_the_last_step_to_the_first_and_its_answer_is_returned(
    method: str, steps: int
) -> None:
    oracle, truth, found = answered(3, 16, Sampler(method, steps))
    assert torch.equal(found, truth)
    asked = [step for step, _ in oracle.calls]
    if method == "dpm++":  # steps that fall together are made once
        assert min(steps, 200) // 3 <= len(asked) <= steps
    else:
        assert len(asked) == min(steps, 200)
    assert (asked[0], asked[-1]) == (199, 0)
    assert all(later < earlier for earlier, later in pairwise(asked))


@pytest.mark.parametrize("steps", [10, 200])
@pytest.mark.parametrize("method", METHODS)
def test_draws_on_the_way_to_an_oracles_answer_have_the_noise_of_their_step(
    method: str, steps: int
) -> None:
    oracle, truth, _ = answered(40, 256, Sampler(method, steps))
    first = oracle.calls[0][1]
    for step, draw in oracle.calls:
        ab = oracle.schedule.alpha_bar[step].item()
        noise = (draw - ab**0.5 * truth) / (1 - ab) ** 0.5
        assert noise.std().item() == pytest.approx(1, abs=0.03)
        if method != "ddpm":  # deterministic: the first noise is kept
            ab_last = oracle.schedule.alpha_bar[-1].item()
            kept = (first - ab_last**0.5 * truth) / (1 - ab_last) ** 0.5
            torch.testing.assert_close(noise, kept, atol=5e-3, rtol=0)


@pytest.mark.parametrize(
    ("method", "steps", "tolerance"),
    [("ddpm", 200, 0.03), ("ddim", 200, 0.03), ("dpm++", 20, 0.1), ("dpm++", 50, 0.03)],
)
@pytest.mark.parametrize("std", [0.4, 1.0])
def test_gaussian_data_come_back_with_their_own_variance(
    method: str, steps: int, tolerance: float, std: float
) -> None:
    variance = std**2

    def exact(r_tau: Tensor, ab: float) -> Tensor:  # E[r | r_tau] for r ~ N(0, variance)
        return ab**0.5 * variance / (ab * variance + 1 - ab) * r_tau

    drawn = sample(Known(exact), everywhere(256, 128), Sampler(method, steps), noise_source())
    assert drawn.mean().item() == pytest.approx(0, abs=0.02 * std)
    assert drawn.std().item() == pytest.approx(std, rel=tolerance)
    neighbours = torch.corrcoef(torch.stack([drawn[:, 1:].flatten(), drawn[:, :-1].flatten()]))
    assert abs(neighbours[0, 1].item()) < 0.03, "steps are independent in these data"


def bent(r_tau: Tensor, ab: float) -> Tensor:
    """A denoiser that is no straight line, so that every term of a step matters."""
    return torch.tanh(r_tau * (0.5 + ab)) + 0.3 * ab


def naive_bent(alpha_bar: list[float]) -> naive.Clean:
    return lambda draw, tau: np.tanh(draw * (0.5 + alpha_bar[tau])) + 0.3 * alpha_bar[tau]


def same_noise(count: int, shape: tuple[int, int], seed: int) -> list[np.ndarray]:
    generator = noise_source(seed)
    return [torch.randn(shape, generator=generator).double().numpy() for _ in range(count)]


def test_ddpm_equals_the_textbook_loop() -> None:
    alpha_bar = naive.alpha_bar(60)
    start, *fresh = same_noise(60, (4, 32), seed=5)
    expected = naive.ddpm(start, naive_bent(alpha_bar), alpha_bar, fresh)
    found = sample(Known(bent, 60), everywhere(4, 32), Sampler("ddpm", 60), noise_source(5))
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("steps", [5, 30, 60])
@pytest.mark.parametrize(
    ("method", "twin"), [("ddim", naive.ddim), ("dpm++", naive.dpm_solver)], ids=["ddim", "dpm++"]
)
def test_few_step_samplers_equal_their_textbook_loops(
    method: str, twin: Callable[..., np.ndarray], steps: int
) -> None:
    alpha_bar = naive.alpha_bar(60)
    (start,) = same_noise(1, (4, 32), seed=6)
    denoiser = Known(bent, 60)
    found = sample(denoiser, everywhere(4, 32), Sampler(method, steps), noise_source(6))
    grid = [step for step, _ in denoiser.calls]
    expected = twin(start, naive_bent(alpha_bar), alpha_bar, grid)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_dpm_solver_comes_closer_to_the_limit_than_ddim_with_as_few_steps() -> None:
    def drawn(method: str, steps: int) -> Tensor:
        return sample(Known(bent), everywhere(8, 64), Sampler(method, steps), noise_source())

    limit = drawn("ddim", 200)
    assert (drawn("dpm++", 12) - limit).norm() < 0.5 * (drawn("ddim", 12) - limit).norm()


@pytest.mark.parametrize("method", METHODS)
def test_the_same_generator_gives_the_same_residuals(method: str) -> None:
    with seeded(0, "expert"):
        preset = preset_named("tiny")
        denoiser = Denoiser(preset.realize, preset.represent).eval()
    given = Condition(
        torch.ones(2, 128),
        torch.ones(2, 48),
        torch.ones(2, 256),
        torch.zeros(2, 256),
        torch.ones(2),
    )
    drawn = [sample(denoiser, given, Sampler(method, 5), noise_source(seed)) for seed in (3, 3, 4)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_outside_the_support_every_step_starts_from_zero_again() -> None:
    support = torch.zeros(2, 32)
    support[:, 8:16] = 1
    leaky = Known(lambda r_tau, ab: torch.ones_like(r_tau))
    found = sample(leaky, supported(support), Sampler("ddim", 50), noise_source())
    assert torch.equal(found, torch.ones(2, 32)), "the last estimate is given as it is"
    last = leaky.calls[-1][1]
    assert last[:, 8:16].mean() > 0.9
    assert last[support == 0].abs().mean() < 0.1
    whole = Known(lambda r_tau, ab: torch.ones_like(r_tau), localised=False)
    sample(whole, supported(support), Sampler("ddim", 50), noise_source())
    assert whole.calls[-1][1].mean() > 0.9, "a whole sequence has no zero to go back to"


def test_estimates_beyond_the_range_of_the_data_are_cut() -> None:
    wild = Known(lambda r_tau, ab: torch.full_like(r_tau, 1e6))
    for method in METHODS:
        drawn = sample(wild, everywhere(1, 8), Sampler(method, 20), noise_source())
        assert torch.equal(drawn, torch.full((1, 8), 5.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("euler", 10), "choose from ddpm, ddim, dpm"), (("ddim", 1), "at least 2")],
)
def test_an_unknown_or_too_short_sampler_is_refused(
    arguments: tuple[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Sampler(*arguments)
