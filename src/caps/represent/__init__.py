"""Structure and anomaly-semantic representations learned from simulated pairs (section 4.1)."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.represent.checks import (
        decode_structure as decode_structure,
        encode_all as encode_all,
        representation_checks as representation_checks,
    )
    from caps.represent.config import RepresentConfig as RepresentConfig
    from caps.represent.forward import Codes as Codes, softmax as softmax
    from caps.represent.networks import (
        LocationEmbedding as LocationEmbedding,
        ResidualDecoder as ResidualDecoder,
    )
    from caps.represent.representation import (
        Objective as Objective,
        Representation as Representation,
        RepresentationStage as RepresentationStage,
        masked_l1 as masked_l1,
        masked_mse as masked_mse,
    )

__getattr__ = on_first_use(__name__)
