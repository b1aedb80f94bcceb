"""The table of all operations; P stands for point, Q for periodic and T for trend."""

from caps.simulate.anomaly import own_data, periodic, point, trend
from caps.simulate.anomaly.operation import FAMILIES, Operation


def _order(operation: Operation) -> tuple[int, int]:
    return FAMILIES.index(operation.family), int(operation.name.split()[0][1:])


DECLARED = [each for part in (point, periodic, own_data, trend) for each in vars(part).values()]
CATALOGUE = tuple(sorted((each for each in DECLARED if isinstance(each, Operation)), key=_order))
OPERATIONS = tuple(operation.name for operation in CATALOGUE)
