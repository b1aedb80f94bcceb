"""Structure and anomaly-semantic representations learned from simulated pairs (section 4.1)."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.represent.checks import decode_structure, encode_all, representation_checks
    from caps.represent.config import RepresentConfig
    from caps.represent.decoders import LocationEmbedding, ResidualDecoder
    from caps.represent.forward import Codes, softmax
    from caps.represent.objective import masked_l1, masked_mse
    from caps.represent.representation import Objective, Representation, RepresentationStage

__all__ = [
    "Codes",
    "LocationEmbedding",
    "Objective",
    "RepresentConfig",
    "Representation",
    "RepresentationStage",
    "ResidualDecoder",
    "decode_structure",
    "encode_all",
    "masked_l1",
    "masked_mse",
    "representation_checks",
    "softmax",
]

__getattr__ = on_first_use(__name__)
