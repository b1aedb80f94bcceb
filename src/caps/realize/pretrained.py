"""`Pretrained`: everything learned from simulation, as one folder that is loaded, never trained."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from caps.artifacts import read_folder, write_folder
from caps.configuration import from_json
from caps.realize.experts import CodeScale, Denoiser, ResidualVae
from caps.realize.manifest import KIND, VERSION, KindRouter, as_described, facts_of, weights_folder
from caps.realize.modes import PRIORS, MaskPool, Prior, Router
from caps.realize.presets import Preset
from caps.realize.samplers import Sampler, sample
from caps.realize.unet import Condition
from caps.represent import Codes, Representation

Network = TypeVar("Network", bound=nn.Module)

Expert = Denoiser | ResidualVae


@dataclass(frozen=True, slots=True)
class Mode:
    """One semantic mode: its prior, its supports, its expert and the size of its residuals."""

    name: str
    prior: Prior  # of standardised codes
    pool: MaskPool
    expert: Expert
    scale: float  # residuals are divided by this before diffusion


@dataclass(frozen=True, slots=True)
class Pretrained:
    """Representation, modes and router; `facts` holds seeds, versions, curves and checks."""

    preset: Preset
    representation: Representation
    code_scale: CodeScale
    modes: tuple[Mode, ...]
    router: Router
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def minutes(self) -> float:
        """Training time of all stages, as far as the facts tell."""
        stages = self.facts.get("stages", {})
        return sum((stage["seconds"] for stage in stages.values()), 0.0) / 60

    @property
    def model_facts(self) -> dict[str, Any]:
        """What a fitted model keeps of them."""
        return facts_of(self.facts, self.preset.name)

    @torch.no_grad()
    def encode(self, windows: Tensor, support: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Structure codes and standardised semantic codes of (batch, time) windows."""
        z_s, z_a = self.representation.encode(windows, support)
        return z_s, self.code_scale.standardise(z_a)

    def assign(self, family: np.ndarray, semantic_code: Tensor) -> np.ndarray:
        """The mode of simulated effects: their family's, or the nearest cluster's."""
        if not self.preset.realize.clusters:
            return family.astype(np.int64)
        centres = torch.from_numpy(np.stack([mode.prior.mean for mode in self.modes])).float()
        return torch.cdist(semantic_code, centres).argmin(dim=1).numpy()

    @torch.no_grad()
    def associate(self, windows: Tensor, support: Tensor) -> np.ndarray:
        """q_k of the router for what happens on the support of each window: (batch, modes)."""
        return self.router.scores(*self.encode(windows, support)).numpy()

    @torch.no_grad()
    def realize(
        self,
        mode: Mode,
        structure_code: Tensor,
        semantic_code: Tensor,
        support: Tensor,
        *,
        blur: float,
        generator: torch.Generator,
        sampler: Sampler | None = None,
        anchored: bool = True,
    ) -> Tensor:
        """What `mode` makes of the given structures: (batch, time), not yet cut to the support.

        A residual; with the `sequence` mechanism the anomalous sequence itself.
        """
        given = Condition(
            structure_code,
            semantic_code,
            support,
            self.representation.base(structure_code),
            torch.full((len(support),), blur),
        )
        if isinstance(mode.expert, ResidualVae):
            return mode.scale * mode.expert.sample(given, generator)
        sampler = sampler or self.preset.sampler
        drawn = sample(mode.expert, given, sampler, generator, anchored=anchored)
        return mode.scale * drawn if mode.expert.localised else drawn

    def counterparts(
        self,
        mode: Mode,
        references: Tensor,
        structure_code: Tensor,
        rng: np.random.Generator,
        *,
        sampler: Sampler | None = None,
    ) -> tuple[Tensor, Tensor]:
        """x + r^ for each reference (eq. 8), semantics drawn from the prior; and the supports."""
        count = len(references)
        codes = torch.from_numpy(mode.prior.sample(count, rng))
        support = torch.from_numpy(mode.pool.sample(count, rng)).float()
        drawn = self.realize(
            mode,
            structure_code,
            codes,
            support,
            blur=self.preset.realize.semantic_blur,
            generator=torch.Generator().manual_seed(int(rng.integers(2**62))),
            sampler=sampler,
        )
        if self.preset.realize.mechanism == "sequence":
            return drawn, support
        return references + drawn * support, support

    @property
    def kind_router(self) -> KindRouter:
        """Its router as events ask it."""
        return KindRouter(
            Codes(self.preset.represent, _arrays(self.representation)),
            {"mean": self.code_scale.mean.numpy(), "spread": self.code_scale.spread.numpy()},
            _arrays(self.router),
            tuple(mode.name for mode in self.modes),
            self.facts.get("sha256"),
        )

    def save(self, folder: Path) -> None:
        """Write the folder; weights are kept in half precision, which changes no figure shown."""
        arrays = {
            "representation": _weights(self.representation),
            "router": _weights(self.router),
            "codes": {
                "mean": self.code_scale.mean.numpy(),
                "spread": self.code_scale.spread.numpy(),
            },
        }
        modes: list[dict[str, Any]] = []
        for mode in self.modes:
            arrays[f"expert-{len(modes)}"] = _weights(mode.expert)
            arrays[f"prior-{len(modes)}"] = {
                "mean": mode.prior.mean,
                "factor": mode.prior.factor,
                "supports": np.packbits(mode.pool.supports, axis=1),
            }
            modes.append({"name": mode.name, "scale": mode.scale, "prior": mode.prior.kind})
        facts = {"preset": asdict(self.preset), "modes": modes, **self.facts}
        write_folder(folder, kind=KIND, version=VERSION, facts=facts, arrays=arrays)

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Read a folder written by `save`; without one, the weights shipped with CAPS."""
        folder = weights_folder(folder)
        manifest, arrays = read_folder(folder, kind=KIND, version=VERSION)
        with as_described(folder):
            return cls._build(manifest, arrays)

    @classmethod
    def _build(cls, manifest: dict[str, Any], arrays: dict[str, dict[str, np.ndarray]]) -> Self:
        preset = from_json(Preset, manifest.pop("preset"))
        described: Sequence[dict[str, Any]] = manifest.pop("modes")
        represent, realize = preset.represent, preset.realize
        modes = []
        for k, facts in enumerate(described):
            prior, window = arrays[f"prior-{k}"], represent.window
            supports = np.unpackbits(prior["supports"], axis=1, count=window).astype(bool)
            empty: Expert = Denoiser(realize, represent)
            if realize.mechanism == "vae":
                empty = ResidualVae(represent)
            expert = _filled(empty, arrays[f"expert-{k}"])
            _check_shape(f"prior-{k}/mean", prior["mean"], (represent.semantic,))
            _check_shape(f"prior-{k}/factor", prior["factor"], (represent.semantic,) * 2)
            _check_shape(f"prior-{k}/supports", prior["supports"][0], (-(-window // 8),))
            if facts["prior"] not in PRIORS:
                raise ValueError(f"unknown prior {facts['prior']!r}")
            fitted = Prior(facts["prior"], prior["mean"], prior["factor"])
            scale = float(facts["scale"])
            modes.append(Mode(facts["name"], fitted, MaskPool(supports), expert, scale))
        router = Router(represent.structure, represent.semantic, len(modes), realize.router_hidden)
        for name in ("mean", "spread"):
            _check_shape(f"codes/{name}", arrays["codes"][name], (represent.semantic,))
        codes = {name: torch.from_numpy(array) for name, array in arrays["codes"].items()}
        return cls(
            preset=preset,
            representation=_filled(Representation(represent), arrays["representation"]),
            code_scale=CodeScale(**codes),
            modes=tuple(modes),
            router=_filled(router, arrays["router"]),
            facts=manifest,
        )


def _check_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")


def load_weights(source: Pretrained | str | os.PathLike[str] | None) -> Pretrained:
    """The weights themselves, those in a folder, or the shipped ones for None."""
    if isinstance(source, Pretrained):
        return source
    return Pretrained.load(None if source is None else Path(source))


def _arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: tensor.cpu().numpy() for name, tensor in module.state_dict().items()}


def _weights(module: nn.Module) -> dict[str, np.ndarray]:
    return {
        name: array.astype(np.float16) if array.dtype == np.float32 and array.ndim > 1 else array
        for name, array in _arrays(module).items()
    }


def _filled(module: Network, arrays: dict[str, np.ndarray]) -> Network:
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    module.load_state_dict(state)  # casts half precision to the module's own
    return module.eval().requires_grad_(False)
