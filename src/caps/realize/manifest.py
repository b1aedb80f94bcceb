"""What the manifest of pretrained weights says, read without the weights and without torch."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from caps.artifacts import MANIFEST, read_manifest
from caps.errors import ArtifactError

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
