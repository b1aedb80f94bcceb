"""The weights of a detector as arrays, and a detector of arrays that were checked."""

from collections.abc import Mapping

import numpy as np
import torch

from caps.errors import ArtifactError
from caps.network.config import DetectorConfig
from caps.network.detector import Detector


def detector_arrays(detector: Detector) -> dict[str, np.ndarray]:
    """Its weights by name."""
    return {name: tensor.cpu().numpy() for name, tensor in detector.state_dict().items()}


def detector_of(config: DetectorConfig, arrays: Mapping[str, np.ndarray]) -> Detector:
    """The detector whose `detector_arrays` these are; odd, missing or other ones are errors."""
    blocks = config.layers if config.network == "transformer" else len(config.dilations)
    if config.members * blocks > len(arrays):
        raise ArtifactError("fewer weights than the detector has parts", "fit it again")
    # On the meta device nothing is allocated, whatever sizes the file claims.
    with torch.device("meta"):
        detector = Detector(config)
    wanted = detector.state_dict()
    state = {}
    for name, array in arrays.items():
        tensor = torch.from_numpy(array.copy())
        if name not in wanted or tensor.dtype != wanted[name].dtype:
            raise ArtifactError(f"the detector has no such weights: {name}", "fit it again")
        if not bool(torch.isfinite(tensor).all()):
            raise ArtifactError(f"weights {name!r} are no finite numbers", "fit it again")
        state[name] = tensor
    detector.load_state_dict(state, strict=True, assign=True)
    return detector.eval().requires_grad_(False)
