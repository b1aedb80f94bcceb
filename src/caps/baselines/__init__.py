"""Every compared method behind one protocol: `METHODS[name](seed).fit(train).score(series)`."""

from caps.baselines.methods import METHODS
from caps.baselines.protocol import LabelledMethod, Method

__all__ = ["METHODS", "LabelledMethod", "Method"]
