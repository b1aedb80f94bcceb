"""Structure and anomaly-semantic representations learned from simulated pairs (section 4.1)."""

from caps.represent.checks import decode_structure, encode_all, representation_checks
from caps.represent.config import RepresentConfig
from caps.represent.decoders import LocationEmbedding, ResidualDecoder
from caps.represent.objective import masked_l1, masked_mse
from caps.represent.representation import Objective, Representation, RepresentationStage

__all__ = [
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
]
