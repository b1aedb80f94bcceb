"""The forward process, the losses of an expert and what an expert is told."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.realize import preset_named
from caps.realize.config import RealizeConfig
from caps.realize.experts import CodeScale, Denoiser, ExpertStage, NoiseSchedule, blurred
from caps.realize.unet import Condition, ResidualExpert
from caps.represent import RepresentConfig
from caps.training import seeded
from oracles import diffusion as naive

TINY = preset_named("tiny")
ROWS, WINDOW = 6, 256


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def condition(rows: int = ROWS, window: int = WINDOW) -> Condition:
    support = torch.zeros(rows, window)
    for i in range(rows):
        support[i, 20 + 10 * i : 60 + 25 * i] = 1
    return Condition(
        structure_code=drawn(rows, 128, seed=1),
        semantic_code=drawn(rows, 48, seed=2),
        support=support,
        structure=drawn(rows, window, seed=3),
        blur=torch.full((rows,), 0.5),
    )


def denoiser(**changes: object) -> Denoiser:
    with seeded(0, "denoiser"):
        return Denoiser(replace(TINY.realize, **{"outside_spread": 1.0, **changes}), TINY.represent)


class Answer(nn.Module):
    """An expert that always gives the same answer."""

    def __init__(self, answer: Tensor) -> None:
        super().__init__()
        self.answer = nn.Parameter(answer)

    def forward(self, r_tau: Tensor, tau: Tensor, given: Condition) -> Tensor:
        return self.answer


@pytest.mark.parametrize("steps", [20, 200])
def test_the_schedule_is_the_cosine_one_and_ends_in_almost_pure_noise(steps: int) -> None:
    alpha_bar = NoiseSchedule(steps).alpha_bar
    np.testing.assert_allclose(alpha_bar, naive.alpha_bar(steps), rtol=1e-5)
    assert (alpha_bar.diff() < 0).all()
    assert alpha_bar[0] > 0.98
    assert alpha_bar[-1] < 1e-4


def test_the_conversions_give_the_clean_residual_back() -> None:
    schedule = NoiseSchedule(200).double()
    tau = torch.arange(200)
    r, noise = drawn(200, 32).double(), drawn(200, 32, seed=1).double()
    r_tau = schedule.diffuse(r, noise, tau)
    velocity = schedule.velocity(r, noise, tau)
    torch.testing.assert_close(schedule.clean_from_velocity(r_tau, velocity, tau), r)
    torch.testing.assert_close(schedule.clean_from_noise(r_tau, noise, tau), r)


def test_a_known_std_gives_the_posterior_mean_of_gaussian_data() -> None:
    # Of data N(0, s^2) seen as r_tau, the best guess is Cov(r, r_tau) / Var(r_tau) r_tau.
    schedule, tau, s = NoiseSchedule(200).double(), torch.arange(200), 0.05
    r_tau, alpha_bar = drawn(200, 32).double(), schedule.alpha_bar.unsqueeze(-1)
    best = alpha_bar.sqrt() * s**2 / (alpha_bar * s**2 + 1 - alpha_bar) * r_tau
    guess = schedule.clean_from_velocity(r_tau, torch.zeros(200, 32).double(), tau, s)
    torch.testing.assert_close(guess, best)


def test_an_expert_that_knows_nothing_says_almost_nothing_outside_the_support() -> None:
    given, tau = condition(), torch.full((ROWS,), 10)
    inside, outside = given.support > 0, given.support == 0
    clean = denoiser(outside_spread=0.05).clean(drawn(ROWS, WINDOW), tau, given)
    assert clean[outside].square().mean().sqrt() < 0.1 * clean[inside].square().mean().sqrt()


def test_diffusion_keeps_the_variance_of_unit_data_at_every_step() -> None:
    signal, sigma = NoiseSchedule(200).at(torch.arange(200))
    torch.testing.assert_close(signal**2 + sigma**2, torch.ones(200, 1))


def losses_and_naive(
    model: Denoiser, tau: Tensor, background: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[float, float]]:
    """What the expert's losses are when it answers at random, and what the loops say."""
    given, noise = condition(), drawn(ROWS, WINDOW, seed=4)
    clean = background + drawn(ROWS, WINDOW, seed=5) * given.support
    answer = drawn(ROWS, WINDOW, seed=6)
    model.expert = Answer(answer)
    found = model.losses(clean, background, tau, noise, given)
    alpha_bar = np.array(naive.alpha_bar(model.schedule.steps))[tau]
    arrays = [t.double().numpy() for t in (clean, background, noise, answer, given.support)]
    return found, naive.losses(*arrays, alpha_bar, model.config.prediction)


BACKGROUNDS = {"residual": torch.zeros(ROWS, WINDOW), "sequence": drawn(ROWS, WINDOW, seed=7)}


@pytest.mark.parametrize("mechanism", BACKGROUNDS)
def test_losses_in_velocity_form_equal_loops_over_the_equation(mechanism: str) -> None:
    tau = torch.tensor([0, 3, 8, 12, 16, 18])
    found, expected = losses_and_naive(denoiser(prediction="velocity"), tau, BACKGROUNDS[mechanism])
    assert found[0].item() == pytest.approx(expected[0], rel=1e-4)
    assert found[1].item() == pytest.approx(expected[1], rel=1e-4)


@pytest.mark.parametrize("mechanism", BACKGROUNDS)
def test_losses_in_noise_form_equal_loops_over_the_equation(mechanism: str) -> None:
    tau = torch.tensor([0, 3, 8, 12, 14, 15])
    found, expected = losses_and_naive(
        denoiser(prediction="noise", outside_cap=1e9), tau, BACKGROUNDS[mechanism]
    )
    assert found[0].item() == pytest.approx(expected[0], rel=1e-4)
    assert found[1].item() == pytest.approx(expected[1], rel=1e-3)


@pytest.mark.parametrize("cap", [0.5, 5.0])
def test_the_weight_of_noise_outside_the_support_is_capped(cap: float) -> None:
    last = torch.full((ROWS,), 19)
    model = denoiser(prediction="noise", outside_cap=cap)
    given, noise, answer = condition(), drawn(ROWS, WINDOW), drawn(ROWS, WINDOW, seed=1)
    model.expert = Answer(answer)
    clean = torch.zeros(ROWS, WINDOW)
    _, outside = model.losses(clean, clean, last, noise, given)
    error = ((answer - noise) ** 2).double().numpy()
    plain = naive.masked_mean(error, 1 - given.support.double().numpy())
    assert outside.item() == pytest.approx(cap * plain, rel=1e-4)


@pytest.mark.parametrize("prediction", ["noise", "velocity"])
def test_the_gradient_stays_bounded_at_every_step(prediction: str) -> None:
    model, given = denoiser(prediction=prediction), condition(1)
    model.expert = Answer(drawn(1, WINDOW))
    clean = drawn(1, WINDOW, seed=1) * given.support
    norms = []
    for tau in range(model.schedule.steps):
        model.zero_grad()
        noise = drawn(1, WINDOW, seed=2)
        parts = model.losses(clean, 0 * clean, torch.tensor([tau]), noise, given)
        sum(parts).backward()
        norms.append(model.expert.answer.grad.norm().item())
    assert max(norms) < 1, "as printed, L_out has gradients beyond 100 here"


@pytest.mark.parametrize("prediction", ["noise", "velocity"])
def test_the_right_answer_costs_nothing(prediction: str) -> None:
    model, given = denoiser(prediction=prediction), condition()
    clean, noise = drawn(ROWS, WINDOW) * given.support, drawn(ROWS, WINDOW, seed=1)
    tau = torch.tensor([0, 4, 8, 12, 16, 19])
    truth = noise if prediction == "noise" else model.schedule.velocity(clean, noise, tau)
    model.expert = Answer(truth)
    main, outside = model.losses(clean, torch.zeros_like(clean), tau, noise, given)
    assert main.item() == pytest.approx(0, abs=1e-10)
    assert outside.item() == pytest.approx(0, abs=1e-10)
    middle = torch.full((ROWS,), 8)
    truth = noise if prediction == "noise" else model.schedule.velocity(clean, noise, middle)
    model.expert = Answer(truth)
    r_tau = model.schedule.diffuse(clean, noise, middle)
    torch.testing.assert_close(model.clean(r_tau, middle, given), clean, atol=1e-5, rtol=1e-4)


def test_blurred_codes_keep_mean_and_variance_and_reach_the_prior() -> None:
    codes, prior = 2 * drawn(20_000, 3), 2 * drawn(20_000, 3, seed=1)
    blur = torch.rand(20_000, generator=torch.Generator().manual_seed(2))
    mixed = blurred(codes, prior, blur)
    torch.testing.assert_close(mixed.mean(0), torch.zeros(3), atol=0.06, rtol=0)
    torch.testing.assert_close(mixed.std(0), torch.full((3,), 2.0), atol=0.05, rtol=0)
    assert torch.equal(blurred(codes, prior, torch.zeros(20_000)), codes)
    assert torch.equal(blurred(codes, prior, torch.ones(20_000)), prior)


class Listening(Denoiser):
    """Remembers what it was asked."""

    def losses(self, clean, background, tau, noise, given):  # type: ignore[no-untyped-def]
        self.asked = clean, background, tau, noise, given
        return clean.mean(), background.mean()


def asked_of(semantic_blur: float) -> tuple[dict[str, Tensor], tuple]:
    rows = 8192
    centre = torch.tensor([3.0, -1.0]).repeat(24).expand(rows, -1)
    batch = {
        "clean": drawn(rows, 8),
        "background": drawn(rows, 8, seed=1),
        "support": torch.ones(rows, 8),
        "structure_code": drawn(rows, 4),
        "structure": drawn(rows, 8, seed=2),
        "semantic_code": centre + 0.5 * drawn(rows, 48, seed=3),
        "prior_code": centre + 0.5 * drawn(rows, 48, seed=4),
        "centre": centre,
    }
    model = Listening(replace(TINY.realize, semantic_blur=semantic_blur), TINY.represent)
    with seeded(0, "stage"):
        losses = ExpertStage(model)(batch)
    assert losses["loss"] == losses["main"] + losses["outside"]
    return batch, model.asked


def test_training_blurs_codes_around_the_centre_of_their_mode() -> None:
    batch, (_, _, tau, noise, given) = asked_of(0.5)
    assert given.blur.min() < 0.01
    assert given.blur.max() > 0.99
    torch.testing.assert_close(given.semantic_code.mean(0), batch["centre"][0], atol=0.03, rtol=0)
    torch.testing.assert_close(
        given.semantic_code.std(0), torch.full((48,), 0.5), atol=0.03, rtol=0
    )
    distance = (given.semantic_code - batch["semantic_code"]).norm(dim=1)
    assert torch.corrcoef(torch.stack([distance, given.blur]))[0, 1] > 0.8
    assert set(tau.tolist()) == set(range(20)), "every diffusion step is trained"
    assert noise.std() == pytest.approx(1, abs=0.02)


def test_without_blur_the_expert_is_told_the_codes_as_they_are() -> None:
    batch, (clean, background, _, _, given) = asked_of(0.0)
    assert torch.equal(given.semantic_code, batch["semantic_code"])
    assert torch.equal(given.blur, torch.zeros(8192))
    assert torch.equal(given.structure_code, batch["structure_code"])
    assert torch.equal(clean, batch["clean"])
    assert torch.equal(background, batch["background"])


@pytest.mark.parametrize(
    ("config", "represent"),
    [(TINY.realize, TINY.represent), (RealizeConfig(), RepresentConfig())],
    ids=["tiny", "paper"],
)
def test_an_expert_answers_in_the_shape_of_the_residual(
    config: RealizeConfig, represent: RepresentConfig
) -> None:
    expert = ResidualExpert(config, represent)
    with torch.no_grad():
        answer = expert(drawn(2, WINDOW), torch.tensor([0, 19]), condition(2))
    assert answer.shape == (2, WINDOW)


def test_the_default_unet_has_the_channels_of_the_paper() -> None:
    expert = ResidualExpert(RealizeConfig(), RepresentConfig())
    assert [block.first.in_channels for block in expert.down] == [64, 128, 256]
    assert [conv.out_channels for conv in expert.shrink] == [128, 256, 256]
    assert expert.middle.first.out_channels == 256
    assert [block.second.out_channels for block in expert.up] == [256, 128, 64]
    assert expert.locate.embed.out_channels == 64


@pytest.mark.parametrize(
    "name", ["structure_code", "semantic_code", "support", "structure", "blur"]
)
def test_an_expert_hears_every_part_of_its_condition(name: str) -> None:
    model, given = denoiser(), condition()
    value = getattr(given, name)
    other = replace(given, **{name: 1 - value if name == "support" else value + 0.5})
    tau = torch.full((ROWS,), 5)
    r_tau = drawn(ROWS, WINDOW)
    with torch.no_grad():
        change = model.expert(r_tau, tau, given) - model.expert(r_tau, tau, other)
        later = model.expert(r_tau, tau, given) - model.expert(r_tau, tau + 9, given)
    assert change.abs().max() > 1e-4
    assert later.abs().max() > 1e-4


def test_codes_are_standardised_and_kept_from_running_away() -> None:
    codes = 4 + 3 * drawn(5000, 6)
    scale = CodeScale(codes.mean(0), codes.std(0))
    standard = scale.standardise(codes)
    torch.testing.assert_close(standard.mean(0), torch.zeros(6), atol=1e-4, rtol=0)
    torch.testing.assert_close(standard.std(0), torch.ones(6), atol=1e-3, rtol=0)
    assert scale.standardise(torch.full((1, 6), 1e9)).max() == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prediction": "score"}, "choose from noise, velocity"),
        ({"mechanism": "gan"}, "choose from diffusion, sequence, vae"),
        ({"semantic_blur": 1.0}, "choose it in"),
        ({"outside_spread": 0.0}, "choose it in"),
        ({"channels": (64, 100)}, "round them up"),
    ],
)
def test_choices_that_do_not_exist_are_refused_with_a_remedy(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RealizeConfig(**changes)
