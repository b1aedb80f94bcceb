"""Every compared method behind one protocol: `METHODS[name](seed).fit(train).score(series)`."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.baselines.methods import METHODS as METHODS
    from caps.baselines.protocol import LabelledMethod as LabelledMethod, Method as Method
    from caps.baselines.tcn import DetectorReference as DetectorReference

__getattr__ = on_first_use(__name__)
