"""The kinds of arrays that functions take and give, by the names that all packages use."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Rows = NDArray[np.intp]
Singles = NDArray[np.float32]
