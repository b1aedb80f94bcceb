"""Pretrainings that studies compare: made once at one budget, kept in `OUT/weights`.

What two pretrainings have in common is trained once: pairs, and the representation where only
the second stage differs.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from caps.artifacts import MANIFEST
from caps.bench.studies.study import StudyRun
from caps.errors import InputError, check_known
from caps.realize import (
    PRIORS,
    SHIPPED,
    TINY,
    Preset,
    Pretrained,
    Pretraining,
    PriorKind,
    Sampler,
    encode_source,
    fit_prior,
    preset_named,
)
from caps.simulate import simulate_pairs
from caps.training import Schedule

PAPER_PAIRS = 48_000
AMOUNTS = (5_000, 10_000, 20_000, PAPER_PAIRS)
CLUSTERS = (1, 3, 5, 7)
SEED = 0
PRIOR = "prior-"  # begins the names of weights that have another prior and nothing else
PRIOR_PAIRS, QUICK_PRIOR_PAIRS = 6_000, 1_536  # behind the priors that are fitted anew
QUICK_CHECKED = 300  # unseen pairs behind the manifest of a quick pretraining

# A small pretraining: the method of `cpu` with narrow networks and few steps, a minute or two each.
QUICK = replace(
    TINY,
    name="study-quick",
    pairs=4_800,
    represent=replace(
        TINY.represent, hidden=(32, 48, 64), location=16, base_width=64, residual_width=64
    ),
    realize=replace(
        TINY.realize,
        channels=(32, 48),
        diffusion_steps=100,
        semantic_blur=0.9,
        location=16,
        time_embedding=32,
        router_hidden=64,
    ),
    sampler=Sampler("dpm++", 8),
    representation=Schedule(steps=320, batch=64, learning_rate=2e-3, warmup=32, ema=0.99),
    expert=Schedule(steps=160, batch=64, learning_rate=2e-3, warmup=16, ema=0.99),
    router=Schedule(steps=200, batch=128),
    mask_pool=1024,
)


def base_preset(run: StudyRun) -> Preset:
    """The preset whose variants a study compares."""
    if run.preset is not None:
        return run.preset
    return QUICK if run.quick else preset_named("cpu")


def budget(run: StudyRun) -> str:
    """The budget in words."""
    base = base_preset(run)
    return (
        f"Pretrainings made for this study: preset `{base.name}`, seed {SEED}, {base.pairs:,} "
        f"simulated pairs, {base.representation.steps:,} steps of {base.representation.batch} for "
        f"the representation, {base.expert.steps:,} of {base.expert.batch} for each expert; all at "
        "the same budget, sharing pairs, and the representation where only the second stage "
        "differs."
    )


def recipes(run: StudyRun) -> dict[str, Preset]:
    """Every pretraining that a study can ask for, by name."""
    base = base_preset(run)

    def realizing(**changed: Any) -> Preset:
        return replace(base, realize=replace(base.realize, **changed))

    return {
        "default": base,
        "no-cf": replace(base, objective=replace(base.objective, recombination=0.0)),
        "sequence": realizing(mechanism="sequence"),
        "vae": realizing(mechanism="vae"),
        **{f"clusters-{count}": realizing(clusters=count) for count in CLUSTERS},
        **{f"pairs-{count}": _with_pairs(base, count, whole=run.quick) for count in AMOUNTS},
    }


def trained(run: StudyRun, name: str) -> Path:
    """The folder of the pretraining called `name`: found, resumed or made.

    The variant of its name uses it.
    """
    for kind in PRIORS:
        if name == f"{PRIOR}{kind}":
            return with_prior(run, kind)
    known = recipes(run)
    check_known("recipe", name, known)
    target, preset = run.out / "weights" / name, known[name]
    if not _is_there(target, preset):
        if (target / MANIFEST).is_file():
            raise InputError(
                f"{target} was made with other settings", "name another folder with --out"
            )
        if name == "default" and _is_there(SHIPPED, preset):
            shutil.copytree(SHIPPED, target)
        else:
            _pretrain(run, target, preset)
    return target


def with_prior(run: StudyRun, kind: PriorKind) -> Path:
    """The weights under study with another prior in every mode, fitted anew; nothing is trained."""
    target = run.out / "weights" / f"{PRIOR}{kind}"
    source = run.pretrained
    wanted = replace(source.preset, realize=replace(source.preset.realize, prior=kind))
    count = QUICK_PRIOR_PAIRS if run.quick else PRIOR_PAIRS
    own = {"prior of": source.facts.get("sha256"), "pairs": count}
    there = (target / MANIFEST).is_file()
    if not there or Pretrained.load(target).facts.get("study") != own:
        run.say(f"fitting {kind} priors")
        pairs = simulate_pairs(count, seed=SEED)
        encoded = encode_source(source.representation, pairs, source.code_scale)
        assigned = source.assign(pairs.family, encoded.semantic_code)
        codes = encoded.semantic_code.numpy()
        modes = tuple(
            replace(mode, prior=fit_prior(codes[assigned == k], kind))
            for k, mode in enumerate(source.modes)
        )
        facts = {**source.facts, "study": own}
        replace(source, preset=wanted, modes=modes, facts=facts).save(target)
    return target


def _with_pairs(base: Preset, amount: int, *, whole: bool) -> Preset:
    """So many pairs and as many epochs as the whole, as in the paper; `whole` scales them down."""
    share = amount / PAPER_PAIRS

    def shorter(schedule: Schedule) -> Schedule:
        return schedule.shortened(max(2, round(share * schedule.steps)))

    return replace(
        base,
        pairs=max(12, round(share * base.pairs)) if whole else amount,
        representation=shorter(base.representation),
        expert=shorter(base.expert),
    )


def _is_there(folder: Path, preset: Preset) -> bool:
    if not (folder / MANIFEST).is_file():
        return False
    there = Pretrained.load(folder)
    return there.preset == preset and there.facts.get("seed") == SEED


def _pretrain(run: StudyRun, target: Path, preset: Preset) -> None:
    work = target.with_name(f"{target.name}-work")
    if not (work / "settings.json").is_file():
        _share(run, work, preset)
    run.say(f"pretraining {target.name}: {preset.pairs:,} pairs")
    made = Pretraining(
        preset,
        target,
        seed=SEED,
        resume=True,
        workers=run.jobs,
        checked=QUICK_CHECKED if run.quick else None,
        say=run.say,
    ).result()
    assert made is not None  # there is no time budget
    if target.name != "default":  # others take what they share from there
        shutil.rmtree(work, ignore_errors=True)


def _share(run: StudyRun, work: Path, preset: Preset) -> None:
    """Lay what the default pretraining has in common with this one where it will be looked for."""
    default = run.out / "weights" / "default-work"
    base = base_preset(run)
    same_stage = replace(base, realize=preset.realize, expert=preset.expert, name=preset.name)
    shared = {"pairs": preset.pairs == base.pairs, "representation": preset == same_stage}
    for part in (name for name, same in shared.items() if same):
        if (default / part).is_dir() and not (work / part).exists():
            staging = work.with_name(f".{work.name}-{part}")
            shutil.rmtree(staging, ignore_errors=True)
            shutil.copytree(default / part, staging)
            work.mkdir(parents=True, exist_ok=True)
            staging.rename(work / part)
