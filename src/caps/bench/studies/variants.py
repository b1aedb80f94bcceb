"""The variants of CAPS that the studies compare, as methods of the bench.

All are `caps-small` with one thing changed: the small detector alone, not the paper's network.
Those that change what the estimator keeps fixed are made from its parts.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from caps.arrays import FloatArray
from caps.baselines import DetectorReference
from caps.bench.caps_methods import SMALL, CapsDiagnosis, CapsMethod, Span
from caps.bench.datasets import LabelledSeries
from caps.bench.methods import make_method
from caps.bench.settings import weights_hash
from caps.errors import InputError
from caps.network import AUTO, TRANSFORMER, Detector, DetectorConfig, train_detector
from caps.realize import Mode, Pretrained
from caps.recover import (
    References,
    known_windows,
    recover_pairs,
    reference_windows,
    trim_references,
)
from caps.series import Scaler

if TYPE_CHECKING:
    from caps.baselines import Method

PREFIX = "caps:"
TRAINED = "trained-"
BEYOND = "beyond-"  # with the options of `detector="auto"`, which go beyond the paper
ALONE = f"{PREFIX}alone"
REFERENCES = 384  # as many as the estimator takes
FEW_REFERENCES = 100  # of a file in the study of contamination (appendix D.1)
DONORS = "contamination-donors.npz"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the variants of a run share; travels to child processes."""

    weights: str | None  # folder of the pretraining under study; None = the shipped one
    trained: str  # folder of the pretrainings that studies made
    detector: DetectorConfig | None = None

    @property
    def cache(self) -> str:
        """Folder of counterparts, which variants of the same construction share."""
        return str(Path(self.trained).with_name("counterparts"))

    def pretrained(self) -> Pretrained:
        """The weights under study."""
        return Pretrained.load(None if self.weights is None else Path(self.weights))


def scaled_channel(series: LabelledSeries) -> FloatArray:
    """The first channel in the scale of the training part."""
    return Scaler.fit(series.values[: series.train]).transform(series.values)[:, 0]


def realized(
    pretrained: Pretrained,
    mode: Mode,
    structure: Tensor,
    support: np.ndarray,
    codes: Tensor,
    seed: int,
) -> np.ndarray:
    """What the expert of a mode makes of codes on references of this structure."""
    return np.asarray(
        pretrained.realize(
            mode,
            structure,
            codes,
            torch.from_numpy(support).float(),
            blur=pretrained.preset.realize.semantic_blur,
            generator=torch.Generator().manual_seed(seed),
        ).numpy()
    )


class FromParts(DetectorReference):
    """References, a counterpart for each mode, one detector a channel; scores are logits."""

    def __init__(self, seed: int, setting: Setting) -> None:
        super().__init__(seed, setting.detector)
        self.setting = setting
        self.excluded: int | None = None

    def references(self, values: FloatArray, column: int) -> References | None:
        """The references to make counterparts of."""
        rng = np.random.default_rng(self.seed)
        return trim_references(reference_windows(values, limit=REFERENCES, rng=rng), rng=rng)

    def learn(self, references: References, column: int) -> Detector:
        """Train on the references and their counterparts."""
        weights, seed = self.setting.pretrained(), self.seed + column
        pairs = recover_pairs(weights, references, excluded=self.excluded, seed=seed)
        return train_detector(pairs, self.config, seed)

    def settings(self) -> dict[str, Any]:
        """What decides the scores."""
        return {"detector": self.config.to_dict(), "weights": weights_hash(self.setting.weights)}


class Covering(FromParts):
    """With the mode of the highest association excluded, or with all modes, to compare."""

    def __init__(self, seed: int, setting: Setting, *, excluding: bool) -> None:
        super().__init__(seed, setting)
        self.excluding = excluding

    def fit_known(self, series: FloatArray, train: int, known: list[Span]) -> Self:
        """Known subsequences of the test part name the mode to exclude; none is trained on."""
        if self.excluding:
            scaled = Scaler.fit(series[:train]).transform(series)
            windows, support = known_windows(scaled[:, 0], known)
            associations = self.setting.pretrained().associate(
                torch.from_numpy(windows), torch.from_numpy(support.astype(np.float32))
            )
            self.excluded = int(associations.mean(axis=0).argmax())
        return self.fit(series[:train])

    def settings(self) -> dict[str, Any]:
        """What decides the scores."""
        return {**super().settings(), "excluding": self.excluding}


class Contaminated(FromParts):
    """Some of 100 references are replaced by anomalous windows of other series."""

    def __init__(self, seed: int, setting: Setting, *, percent: int, trimmed: bool) -> None:
        super().__init__(seed, setting)
        self.percent, self.trimmed = percent, trimmed
        self.donors = Path(setting.trained).with_name("kept") / DONORS

    def fit(self, train: FloatArray) -> Self:
        """Learn from a series, whose own anomalies are none of the foreign ones."""
        self._mark = series_mark(train)
        return super().fit(train)

    def references(self, values: FloatArray, column: int) -> References | None:
        """Clean references with their share of foreign anomalies, trimmed or as they are."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(1,)))
        clean = reference_windows(values, limit=FEW_REFERENCES, rng=rng)
        mixed = self._mixed(clean, rng)
        return trim_references(mixed, rng=rng) if self.trimmed else mixed

    def settings(self) -> dict[str, Any]:
        """What decides the scores."""
        donors = hashlib.sha256(self.donors.read_bytes()).hexdigest()[:12]
        own = {"percent": self.percent, "trimmed": self.trimmed, "donors": donors}
        return {**super().settings(), **own}

    def _mixed(self, clean: References, rng: np.random.Generator) -> References:
        count = round(self.percent / 100 * len(clean))
        if count == 0:
            return clean
        with np.load(self.donors) as stored:
            foreign = stored["windows"][stored["origin"] != self._mark]
        if len(foreign) == 0:
            raise InputError("no other series has anomalies", "give more than one KPI series")
        indices = rng.choice(len(clean), count, replace=False)
        drawn = rng.choice(len(foreign), count, replace=count > len(foreign))
        windows, starts, trusted = clean.windows.copy(), clean.starts.copy(), clean.trusted.copy()
        windows[indices] = foreign[drawn]
        trusted[indices] = True
        # Far from all rows and from each other: no two of them overlap in time.
        size = windows.shape[1]
        starts[indices] = clean.starts.max() + 2 * size * (1 + np.arange(count))
        return replace(clean, windows=windows, starts=starts, trusted=trusted)


def contaminated_variant(setting: Setting, name: str, seed: int) -> Contaminated:
    """The variant named like `references-10` or `references-10-trimmed`."""
    percent, _, treatment = name.removeprefix("references-").partition("-")
    if not percent.isdecimal() or int(percent) > 100 or treatment not in ("", "trimmed"):
        raise InputError(
            f"there is no variant {name!r}", "write references-10 or references-10-trimmed"
        )
    return Contaminated(seed, setting, percent=int(percent), trimmed=treatment == "trimmed")


def series_mark(train: FloatArray) -> str:
    """Tells a series by its training part."""
    return hashlib.sha256(np.ascontiguousarray(train).tobytes()).hexdigest()[:16]


class Variant(CapsMethod):
    """The estimator with the parameters of a variant."""

    def __init__(self, seed: int, setting: Setting, **parameters: Any) -> None:
        shared = {
            "detector": setting.detector or DetectorConfig(),
            "pretrained": setting.weights,
            "cache": setting.cache,
        }
        super().__init__(seed, **{**SMALL, **shared, **parameters})


class Diagnosed(Variant, CapsDiagnosis):
    """Diagnosis: known anomalies of the test part choose the modes, and nothing else."""


# What each variant changes.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "alone": {},
    "resized": {"construction": "resized"},
    "shuffled": {"construction": "shuffled"},
    "direct": {"construction": "direct"},
    "injection": {"construction": "injection"},
    "perturbation": {"construction": "perturbation"},
    "top5": {"aggregate": "top5"},
}
# A third of the small detector's steps, to compare options: choices are confirmed with all of them.
SCREENED = DetectorConfig(members=1, steps=120)
# What each option of training changes of it.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "events": {"weighting": "events"},
    "modes": {"outputs": 4},
    "short": {"short_share": 0.5},
    "seen": {"effect_floor": 1.0},
    "both": {"view": "both"},
    "stopped": {"patience": 3, "steps": 240},
    "own": {"own_share": 0.25},
    "events-seen": {"weighting": "events", "effect_floor": 1.0},
    "events-seen-short": {"weighting": "events", "effect_floor": 1.0, "short_share": 0.25},
    "events-seen-own": {"weighting": "events", "effect_floor": 1.0, "own_share": 0.25},
}


def _beyond_paper() -> dict[str, Any]:
    """What `detector="auto"` changes of the small detector."""
    small = DetectorConfig().to_dict()
    return {name: each for name, each in AUTO.to_dict().items() if each != small[name]}


def make_variant(setting: Setting, name: str, seed: int) -> "Method":
    """A variant by name; names without `caps:` are methods of the bench."""
    if not name.startswith(PREFIX):
        return make_method(name, seed)
    short = name.removeprefix(PREFIX)
    if short.startswith(TRAINED):
        folder = str(Path(setting.trained) / short.removeprefix(TRAINED))
        return Variant(seed, setting, pretrained=folder)
    if short.startswith("references-"):
        return contaminated_variant(setting, short, seed)
    if short in CHANGES:
        return Variant(seed, setting, **CHANGES[short])
    if short in OPTIONS:
        config = replace(setting.detector or SCREENED, **OPTIONS[short])
        return Variant(seed, setting, detector=config)
    if short.startswith(BEYOND):
        config = replace(setting.detector or SCREENED, **_beyond_paper())
        change = short.removeprefix(BEYOND)
        if change == "diagnosis":
            return Diagnosed(seed, setting, detector=config)
        return Variant(seed, setting, detector=config, **CHANGES[change])
    if short == "diagnosis":
        return Diagnosed(seed, setting)
    if short == "transformer":
        given = setting.detector
        config = replace(given, network="transformer") if given else TRANSFORMER
        return Variant(seed, setting, detector=config)
    if short in ("all-modes", "without-mode"):
        return Covering(seed, setting, excluding=short == "without-mode")
    known = ", ".join([*CHANGES, *OPTIONS, "diagnosis", "transformer", "all-modes", "without-mode"])
    raise InputError(f"there is no variant {name!r}", f"choose from {known}")
