"""What pretrained weights say without torch: the manifest, and the router that names kinds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from caps.arrays import Singles
from caps.artifacts import MANIFEST, Arrays, read_folder, read_manifest
from caps.configuration import from_json
from caps.errors import ArtifactError
from caps.realize.config import LARGEST_CODE
from caps.represent import Codes, RepresentConfig, softmax

KIND = "caps.pretrained"
VERSION = 1
SHIPPED = Path(__file__).with_name("weights")


def weights_folder(folder: Path | None) -> Path:
    """The folder itself, or that of the weights shipped with CAPS."""
    if folder is not None:
        return folder
    if not SHIPPED.exists():
        raise ArtifactError(
            "this copy of CAPS has no pretrained weights",
            "install the released package, or make them with caps pretrain",
        )
    return SHIPPED


def weights_facts(folder: Path | None) -> dict[str, Any]:
    """Which weights they are and how well they tell kinds; nothing where CAPS ships none."""
    if folder is None and not (SHIPPED / MANIFEST).is_file():
        return {}
    home = weights_folder(folder)
    manifest = read_manifest(home, kind=KIND, version=VERSION)
    with as_described(home):
        return facts_of(manifest, str(manifest["preset"]["name"]))


@contextmanager
def as_described(folder: Path) -> Iterator[None]:
    """Say of what fails within that the folder is to blame."""
    try:
        yield
    except (
        ArtifactError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise ArtifactError(
            f"{folder} does not hold what its manifest says ({error})", "pretrain it again"
        ) from error


def facts_of(manifest: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """What a model keeps of the weights: their digests and how often the router is right."""
    router = manifest.get("checks", {}).get("realization", {}).get("router", {})
    return {
        "kind_accuracy": router.get("accuracy"),
        "weights": manifest.get("sha256"),
        "preset": preset,
    }


GROUPS = ("representation", "codes", "router")  # what is read of the folder


@dataclass(frozen=True, slots=True, eq=False)
class KindRouter:
    """Windows and supports in, associations with the modes out."""

    codes: Codes
    scale: Arrays  # of the semantic codes: mean and spread
    router: Arrays
    modes: tuple[str, ...]
    digests: Any  # of the files, which tell weights apart

    @property
    def window(self) -> int:
        """Rows that it looks at."""
        return self.codes.config.window

    def associate(self, windows: Singles, support: Singles) -> Singles:
        """q_k for what happens on the support of each window: (batch, modes), as `Pretrained`."""
        z_s, z_a = self.codes.of(windows, support)
        standardised = (z_a - self.scale["mean"]) / self.scale["spread"]
        codes = np.concatenate([z_s, np.clip(standardised, -LARGEST_CODE, LARGEST_CODE)], axis=1)
        hidden = np.maximum(
            codes @ self.router["layers.0.weight"].T + self.router["layers.0.bias"], 0
        )
        return softmax(hidden @ self.router["layers.3.weight"].T + self.router["layers.3.bias"])

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Of a folder of pretrained weights, or of those shipped with CAPS."""
        home = weights_folder(folder)
        manifest, arrays = read_folder(home, kind=KIND, version=VERSION, groups=GROUPS)
        with as_described(home):
            return cls._build(manifest, arrays)

    @classmethod
    def _build(cls, manifest: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> Self:
        representation, codes, router = (_singles(arrays[group]) for group in GROUPS)
        made = cls(
            Codes(from_json(RepresentConfig, manifest["preset"]["represent"]), representation),
            codes,
            router,
            tuple(str(mode["name"]) for mode in manifest["modes"]),
            manifest["sha256"],
        )
        blank = np.zeros((1, made.window), np.float32)
        if made.associate(blank, blank + 1).shape != (1, len(made.modes)):
            raise ValueError("its router names other modes")
        return made


def kind_router(folder: Path | None) -> KindRouter:
    """The router of a folder, kept for the next event."""
    home = weights_folder(folder).absolute()
    try:
        state = (home / MANIFEST).stat()
    except OSError:
        return KindRouter.load(home)  # which says what is missing
    return _loaded(home, (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=1)
def _loaded(folder: Path, state: tuple[int, ...]) -> KindRouter:
    return KindRouter.load(folder)


def _singles(arrays: Arrays) -> dict[str, np.ndarray]:
    return {name: array.astype(np.float32) for name, array in arrays.items()}
