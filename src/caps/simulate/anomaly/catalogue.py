"""The table of all operations; P stands for point, Q for periodic and T for trend."""

from caps.simulate.anomaly.operation import Operation
from caps.simulate.anomaly.own_data import OWN_DATA
from caps.simulate.anomaly.periodic import SEASON
from caps.simulate.anomaly.point import POINT
from caps.simulate.anomaly.trend import TREND


def _number(operation: Operation) -> int:
    return int(operation.name.split()[0][1:])


CATALOGUE = POINT + tuple(sorted(SEASON + OWN_DATA, key=_number)) + TREND
OPERATIONS = tuple(operation.name for operation in CATALOGUE)
