"""Pretraining from simulation to a `Pretrained`, stage by stage and resumable (Algorithm 1)."""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

import caps
from caps.artifacts import MANIFEST, write_text
from caps.errors import InputError
from caps.realize.checks import realization_checks
from caps.realize.experts import Denoiser, ExpertStage, ResidualVae, VaeStage
from caps.realize.manifest import KIND
from caps.realize.modes import Router, RouterStage
from caps.realize.presets import Preset
from caps.realize.pretrained import Expert, Mode, Pretrained
from caps.realize.source import Modes, ModeSource, Source, encode_source, mode_sources, organise
from caps.replacing import check_folder, check_room
from caps.represent import Representation, RepresentationStage, representation_checks
from caps.simulate import PairBatch, load_pairs, save_pairs, simulate_pairs
from caps.training import Batches, Progress, Schedule, seeded, start_fabric, train

if TYPE_CHECKING:
    from lightning_fabric import Fabric

CHECKED = 3_000
FEWEST_PAIRS = 12
UNSEEN = 1  # added to the seed for pairs that no stage has seen


@dataclass(slots=True)
class Pretraining:
    """One pretraining run: checkpoints in `<folder>-work` beside it, the result in `folder`.

    `result()` runs (or resumes) every stage and returns the `Pretrained`, or None when the time
    budget ended first.
    """

    preset: Preset
    folder: Path
    seed: int = 0
    resume: bool = False
    minutes: float | None = None
    workers: int = 2
    checked: int | None = None  # unseen pairs behind the figures in the manifest; None = CHECKED
    fabric: "Fabric | None" = None
    progress: Callable[[], Progress] | None = None
    say: Callable[[str], None] = lambda _: None
    started: float = field(default_factory=time.monotonic)
    stages: dict[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """Where pairs and checkpoints wait for the next sitting; can be deleted at the end."""
        return self.folder.with_name(f"{self.folder.name}-work")

    def result(self) -> Pretrained | None:
        """Run every stage that is not done yet."""
        if self.seed < 0:
            raise InputError(f"the seed is {self.seed}", "give 0 or more")
        if self.preset.pairs < FEWEST_PAIRS:
            raise InputError(
                f"{self.preset.pairs} pairs are too few", f"simulate at least {FEWEST_PAIRS}"
            )
        fabric = self.fabric = self.fabric or start_fabric(precision=self.preset.precision)
        self._remember(fabric)
        pairs = self._pairs(fabric.is_global_zero)
        representation = self._network(Representation, self.preset.represent)
        stage = self._network(RepresentationStage, representation, self.preset.objective)
        if not self._train(
            "representation", stage, _pair_batches(pairs), self.preset.representation
        ):
            return None
        source = encode_source(representation, pairs)
        realize = self.preset.realize
        codes = source.semantic_code.numpy()
        modes = organise(pairs.family, codes, realize.clusters, seed=self.seed)
        fitted = mode_sources(
            source, modes, kind=realize.prior, pool=self.preset.mask_pool, seed=self.seed
        )
        experts = self._experts(fitted)
        router = self._router(source, modes) if experts else None
        if experts is None or router is None:
            return None
        return self._finish(representation, source, fitted, experts, router)

    def _remember(self, fabric: "Fabric") -> None:
        """Note what this run is, or refuse to overwrite or to go on with another one."""
        settings = {"preset": asdict(self.preset), "seed": self.seed}
        text = json.dumps(settings, indent=2) + "\n"
        note = self.work / "settings.json"
        begun = note.exists() or (self.folder / MANIFEST).exists()
        if begun and not self.resume:
            raise InputError(
                f"{self.folder} holds a pretraining already", "name another folder or --resume"
            )
        if note.exists() and note.read_text(encoding="utf-8") != text:
            raise InputError(
                f"{self.work} was begun with other settings", "resume with the same, or start anew"
            )
        check_folder(self.folder, kind=KIND)
        check_room(self.work)
        fabric.barrier()  # nobody writes before all have looked
        if fabric.is_global_zero:
            write_text(note, text)

    def _pairs(self, first_process: bool) -> PairBatch:
        """Simulate the source pairs, or read them back in a later sitting."""
        stored = self.work / "pairs"
        if self.resume and (stored / MANIFEST).exists():
            return load_pairs(stored)
        self.say(f"simulating {self.preset.pairs:,} pairs")
        pairs = simulate_pairs(self.preset.pairs, seed=self.seed, workers=self.workers)
        if first_process:
            save_pairs(pairs, stored, seed=self.seed)
        return pairs

    def _network(self, kind: type[nn.Module], *arguments: Any) -> Any:
        """Build a network whose initial weights depend on the seed and its place only."""
        with seeded(self.seed, kind.__name__, len(self.stages)):
            return kind(*arguments)

    def _train(self, name: str, stage: nn.Module, batches: Batches, schedule: Schedule) -> bool:
        left = None
        if self.minutes is not None:
            left = max(self.minutes - (time.monotonic() - self.started) / 60, 0.0)
        result = train(
            stage,
            batches,
            schedule,
            seed=self.seed,
            name=name,
            folder=self.work,
            resume=self.resume,
            minutes=left,
            fabric=self.fabric,
            progress=self.progress() if self.progress else None,
        )
        stage.cpu()  # codes, checks and the folder need no accelerator
        self.stages[name] = {
            "seconds": result.seconds,
            "steps": result.step,
            "curves": result.curves,
        }
        return result.finished

    def _experts(self, fitted: list[ModeSource]) -> list[Expert] | None:
        experts: list[Expert] = []
        for mode in fitted:
            stage: VaeStage | ExpertStage
            if self.preset.realize.mechanism == "vae":
                stage = VaeStage(self._network(ResidualVae, self.preset.represent))
            else:
                sizes = self.preset.realize, self.preset.represent
                stage = ExpertStage(self._network(Denoiser, *sizes))
            label = f"expert-{mode.name.replace(' ', '-')}"
            if not self._train(
                label, stage, mode.batches(self.preset.realize.mechanism), self.preset.expert
            ):
                return None
            experts.append(stage.vae if isinstance(stage, VaeStage) else stage.denoiser)
        return experts

    def _router(self, source: Source, modes: Modes) -> Router | None:
        sizes = self.preset.represent.structure, self.preset.represent.semantic
        router = self._network(Router, *sizes, len(modes), self.preset.realize.router_hidden)
        assignment = torch.from_numpy(modes.assignment)

        def batches(count: int, rng: np.random.Generator) -> dict[str, torch.Tensor]:
            rows = torch.from_numpy(rng.integers(len(assignment), size=count))
            return {
                "structure_code": source.structure_code[rows],
                "semantic_code": source.semantic_code[rows],
                "mode": assignment[rows],
            }

        finished = self._train("router", RouterStage(router), batches, self.preset.router)
        return router if finished else None

    def _finish(
        self,
        representation: Representation,
        source: Source,
        fitted: list[ModeSource],
        experts: list[Expert],
        router: Router,
    ) -> Pretrained:
        self.say("checking on unseen pairs")
        unseen = simulate_pairs(
            self.checked or CHECKED, seed=self.seed + UNSEEN, workers=self.workers
        )
        parts = zip(fitted, experts, strict=True)
        pretrained = Pretrained(
            preset=self.preset,
            representation=representation,
            code_scale=source.code_scale,
            modes=tuple(
                Mode(each.name, each.prior, each.pool, expert, each.scale) for each, expert in parts
            ),
            router=router,
        )
        pretrained.facts.update(
            seed=self.seed,
            versions={
                "caps": caps.__version__,
                "torch": torch.__version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            stages=self.stages,
            checks={
                "representation": representation_checks(representation, unseen),
                "realization": realization_checks(pretrained, unseen),
            },
        )
        if self.fabric is not None and self.fabric.is_global_zero:
            pretrained.save(self.folder)
        return pretrained


def _pair_batches(pairs: PairBatch) -> Batches:
    def draw(count: int, rng: np.random.Generator) -> dict[str, torch.Tensor]:
        rows = rng.integers(len(pairs), size=count)
        return {
            "normal": torch.from_numpy(pairs.normal[rows]),
            "anomalous": torch.from_numpy(pairs.anomalous[rows]),
            "support": torch.from_numpy(pairs.support[rows]).float(),
            "family": torch.from_numpy(pairs.family[rows]).long(),
        }

    return draw
