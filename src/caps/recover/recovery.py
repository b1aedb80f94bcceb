"""Counterparts of references: one for each selected mode, by CAPS or by a controlled variant.

They can be kept in a folder, found again by the content of everything they depend on.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch

from caps.artifacts import read_folder, write_folder
from caps.errors import ArtifactError, InputError, check_known
from caps.jobs import in_torch_threads
from caps.realize import Pretrained, Sampler
from caps.recover.injection import PERTURBATIONS, RULES, outlier, rewritten
from caps.recover.pairs import NO_MODE, PairSet, visible
from caps.recover.references import References
from caps.recover.resizing import like_source

KIND = "caps.counterparts"
VERSION = 1  # also of the ways to draw: a change of them must not be answered with old counterparts

Columns = dict[str, np.ndarray]


def cached(
    folder: Path | None,
    pretrained: Pretrained,
    references: References,
    request: Mapping[str, Any],
    make: Callable[[], Columns],
) -> Columns:
    """What `make` returns, kept under `folder`; an entry that was damaged is made again."""
    if folder is None:
        return make()
    entry = folder / content_key(pretrained, references, request)
    try:
        return read_folder(entry, kind=KIND, version=VERSION)[1]["columns"]
    except ArtifactError:
        columns = make()
    write_folder(
        entry, kind=KIND, version=VERSION, facts={"request": request}, arrays={"columns": columns}
    )
    return columns


def content_key(pretrained: Pretrained, references: References, request: Mapping[str, Any]) -> str:
    """A name for the request: it changes with the weights, the references and every option."""
    weights = pretrained.facts.get("sha256")
    if not isinstance(weights, dict):
        raise InputError(
            "weights that were never saved have no name to cache under",
            "save them and load them again, or leave out the cache",
        )
    named = {
        "version": VERSION,
        "weights": weights,
        "preset": asdict(pretrained.preset),
        "modes": [(mode.name, mode.scale, mode.prior.kind) for mode in pretrained.modes],
        "shape": references.windows.shape,
        "request": request,
    }
    digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(references.windows, dtype=np.float32).tobytes())
    return digest.hexdigest()[:32]


Construction = Literal["caps", "resized", "shuffled", "direct", "injection", "perturbation"]
CONSTRUCTIONS: tuple[Construction, ...] = get_args(Construction)
BY_RULE = ("injection", "perturbation")  # they know no modes
REALIZED = ("caps", "resized", "shuffled")  # by the experts
Progress = Callable[[int, int], None]
BATCH = 192  # of a mode's 384 in two equal parts, so that no core waits for another at the end
SOURCE_BLOCK = 768  # the simulator makes this many residuals at the price of one

# Counterparts and supports for the references numbered, drawn from a mode.
Draw = Callable[[int, np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def recover_pairs(
    pretrained: Pretrained,
    references: References,
    *,
    modes: Sequence[int] | None = None,
    excluded: int | None = None,
    construction: Construction = "caps",
    seed: int = 0,
    sampler: Sampler | None = None,
    batch: int = BATCH,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> PairSet:
    """One counterpart for each selected mode and reference; all modes unless `modes` names some.

    `resized` gives the effects the sizes and the roughness of simulated ones of their family.
    `shuffled` adds each effect, with its support, to another reference than it was made for.
    `direct` adds simulated residuals of the mode's family as they are; `injection` applies fixed
    rules to the own windows, `perturbation` those of DADA. Counterparts of the `excluded` mode come
    from the others in turn, so that their number stays. With a `cache` folder the same request is
    answered from there. `progress` is called with (counterparts made, all).
    """
    chosen = _checked_modes(pretrained, references, modes, excluded, construction)
    request = {
        "modes": chosen,
        "excluded": excluded,
        "construction": construction,
        "seed": seed,
        "sampler": repr(sampler),
        "batch": batch,
    }
    drawn = cached(
        cache,
        pretrained,
        references,
        request,
        lambda: _drawn(
            _draw(pretrained, references, construction, sampler),
            references.windows,
            _turns(len(references), chosen, excluded),
            seed=seed,
            # The others cost no memory to speak of, and one draw of a mode is cheaper than several.
            batch=batch if construction in REALIZED else len(chosen) * len(references),
            progress=progress,
        ),
    )
    pairs = PairSet(reference=references.windows, trusted=references.trusted, **drawn)
    if construction == "shuffled":
        return _shuffled(pairs, _stream(seed, len(pretrained.modes), 0))
    if construction == "resized":
        return _resized(pretrained, pairs, _stream(seed, len(pretrained.modes), 1))
    if construction in BY_RULE:
        return replace(pairs, mode=np.full(len(pairs), NO_MODE))
    return pairs


def _checked_modes(
    pretrained: Pretrained,
    references: References,
    modes: Sequence[int] | None,
    excluded: int | None,
    construction: Construction,
) -> list[int]:
    count = len(pretrained.modes)
    chosen = list(range(count)) if modes is None else [int(mode) for mode in modes]
    check_known("construction", construction, CONSTRUCTIONS)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(count)):
        raise InputError(f"modes {chosen}", f"name each of 0 to {count - 1} once at most")
    if excluded is not None and (excluded not in chosen or len(chosen) == 1):
        raise InputError(
            f"mode {excluded} cannot be excluded from {chosen}", "exclude one of several modes"
        )
    if excluded is not None and construction in BY_RULE:
        raise InputError("rules have no modes to exclude", "use another construction")
    window = pretrained.preset.represent.window
    if references.windows.shape[1] != window:
        raise InputError(
            f"references of {references.windows.shape[1]} steps for weights made for {window}",
            f"cut references with size={window}",
        )
    if construction == "shuffled":
        _check_shuffling(pretrained, references)
    return chosen


def _check_shuffling(pretrained: Pretrained, references: References) -> None:
    if len(references) < 2:
        raise InputError("one reference has no other to take an effect from", "give two or more")
    if pretrained.preset.realize.mechanism == "sequence":
        raise InputError(
            "these weights make sequences, not effects that could be moved",
            "use weights with another mechanism",
        )


def _turns(count: int, modes: list[int], excluded: int | None) -> dict[int, np.ndarray]:
    """The references that each mode makes counterparts of; every one occurs len(modes) times."""
    asked = np.repeat(np.array(modes)[:, None], count, axis=1)
    if excluded is not None:
        others = [mode for mode in modes if mode != excluded]
        asked[modes.index(excluded)] = np.resize(others, count)
    return {mode: np.sort(np.nonzero(asked == mode)[1]) for mode in modes if (asked == mode).any()}


def _drawn(
    draw: Draw,
    windows: np.ndarray,
    turns: dict[int, np.ndarray],
    *,
    seed: int,
    batch: int,
    progress: Progress | None,
) -> dict[str, np.ndarray]:
    """The columns of a pair set; a batch depends on the seed, its mode and its place only."""
    total, done = sum(len(anchors) for anchors in turns.values()), 0
    counterparts, supports = [], []

    def made(job: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        mode, first = job
        rows = turns[mode][first : first + batch]
        return _redrawn(draw, windows, mode, rows, _stream(seed, mode, first))

    jobs = [(mode, first) for mode in turns for first in range(0, len(turns[mode]), batch)]
    for counterpart, support in in_torch_threads(made, jobs):
        counterparts.append(counterpart)
        supports.append(support)
        done += len(counterpart)
        if progress is not None:
            progress(done, total)
    return {
        "counterpart": np.concatenate(counterparts),
        "support": np.concatenate(supports),
        "mode": np.repeat(list(turns), [len(anchors) for anchors in turns.values()]),
        "anchor": np.concatenate(list(turns.values())),
    }


def _redrawn(
    draw: Draw, windows: np.ndarray, mode: int, rows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw; what does not show is drawn once more."""
    counterpart, support = draw(mode, rows, rng)
    weak = np.flatnonzero(~visible(windows[rows], counterpart, support))
    if len(weak):
        counterpart[weak], support[weak] = draw(mode, rows[weak], rng)
    return counterpart, support


def _draw(
    pretrained: Pretrained,
    references: References,
    construction: Construction,
    sampler: Sampler | None,
) -> Draw:
    windows = references.windows
    if construction == "injection":
        return lambda mode, rows, rng: rewritten(windows, rows, RULES, rng)
    if construction == "perturbation":
        return lambda mode, rows, rng: rewritten(windows, rows, PERTURBATIONS, rng, sparse=outlier)
    if construction == "direct":
        return _direct(pretrained, windows)
    return _realized(pretrained, windows, sampler)


def _realized(pretrained: Pretrained, windows: np.ndarray, sampler: Sampler | None) -> Draw:
    """Effects that the experts realise under the structure of each reference (eq. 8)."""
    references = torch.from_numpy(windows)
    parts = torch.split(references, BATCH)
    structure_code = torch.cat([*in_torch_threads(lambda x: pretrained.encode(x)[0], parts)])

    def draw(
        mode: int, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        counterpart, support = pretrained.counterparts(
            pretrained.modes[mode], references[rows], structure_code[rows], rng, sampler=sampler
        )
        return counterpart.numpy(), support.numpy() > 0

    return draw


def _direct(pretrained: Pretrained, windows: np.ndarray) -> Draw:
    """Source residuals of the mode's family, whatever the reference looks like."""
    pools: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def draw(
        mode: int, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        if mode not in pools:
            pools[mode] = _source_residuals(pretrained, mode, len(rows), rng)
        residual, support = pools[mode]
        drawn = rng.choice(len(residual), len(rows), replace=False)
        return windows[rows] + residual[drawn] * support[drawn], support[drawn]

    return draw


def _source_residuals(
    pretrained: Pretrained, mode: int, least: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """At least so many simulated residuals of the mode's family, and their supports."""
    if pretrained.preset.realize.clusters:
        raise InputError(
            "these modes are clusters, source residuals belong to families",
            "use weights whose modes are the families",
        )
    from caps.realize import draw_source_residuals  # the simulator's scipy.signal: a second

    family, window = pretrained.modes[mode].name, pretrained.preset.represent.window
    return draw_source_residuals(family, max(least, SOURCE_BLOCK), rng, window=window)


def _resized(pretrained: Pretrained, pairs: PairSet, rng: np.random.Generator) -> PairSet:
    """Each effect brought to the size and the roughness of the source's effect of its rank."""
    counterpart = pairs.counterpart.copy()
    for mode in np.unique(pairs.mode):
        rows = np.flatnonzero(pairs.mode == mode)
        residual, support = pairs.residual[rows], pairs.support[rows]
        source = _source_residuals(pretrained, int(mode), len(rows), rng)
        drawn = rng.choice(len(source[0]), len(rows), replace=False)
        effect = like_source(residual, support, *(array[drawn] for array in source))
        counterpart[rows] = pairs.reference[pairs.anchor[rows]] + effect
    return replace(pairs, counterpart=counterpart)


def _shuffled(pairs: PairSet, rng: np.random.Generator) -> PairSet:
    """Each effect and support moved to another reference, the same one in every mode."""
    order = rng.permutation(len(pairs.reference))
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)  # one cycle through all references: none stays in place
    anchor = other[pairs.anchor]
    counterpart = pairs.reference[anchor] + pairs.residual * pairs.support
    return replace(pairs, counterpart=counterpart, anchor=anchor)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
