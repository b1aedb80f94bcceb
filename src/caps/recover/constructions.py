"""Ways to make counterparts, by name; without torch, so that options can name them."""

from typing import Literal, get_args

Construction = Literal[
    "caps",
    "resized",
    "shuffled",
    "observed",
    "observed-shuffled",
    "direct",
    "injection",
    "perturbation",
]
CONSTRUCTIONS: tuple[Construction, ...] = get_args(Construction)
BY_RULE = ("injection", "perturbation")  # they know no modes
OBSERVED = ("observed", "observed-shuffled")
SHUFFLED = ("shuffled", "observed-shuffled")
REALIZED = ("caps", "resized", *SHUFFLED, "observed")  # by the experts
