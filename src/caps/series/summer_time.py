"""The hour that comes twice when summer time ends, in local times without a zone."""

import numpy as np

from caps.series.timestamps import TimeArray

# One for each hour that is repeated somewhere, those with most people first.
ZONES = (
    "Europe/Berlin", "America/New_York", "Europe/London", "Europe/Helsinki", "Australia/Sydney",
    "America/Santiago",
)  # fmt: skip
HOUR = np.timedelta64(1, "h")
MOST_YEARS = 60


def summer_time(times: TimeArray) -> tuple[TimeArray, str] | None:
    """Times in UTC and their zone, where all that keeps them from rising are clocks set back.

    >>> clock = ["01:00", "02:00", "02:00", "03:00"]  # two hours after midnight, and again
    >>> local = np.array([f"2024-10-27T{hour}" for hour in clock], dtype="datetime64[ns]")
    >>> utc, zone = summer_time(local)
    >>> zone, np.diff(utc).astype("timedelta64[h]").tolist() == [HOUR.item()] * 3
    ('Europe/Berlin', True)
    """
    steps = np.diff(times)
    set_back = steps <= np.timedelta64(0, "ns")
    if not 0 < set_back.sum() <= MOST_YEARS or bool(np.any(steps < -HOUR)):
        return None
    import pandas as pd  # half a second that arrays do without

    local = pd.DatetimeIndex(times)
    for zone in ZONES:
        try:
            utc = local.tz_localize(zone, ambiguous="infer").tz_convert("UTC").tz_localize(None)
        except ValueError:  # clocks were not set back then, or an hour is there that never was
            continue
        if utc.is_monotonic_increasing and utc.is_unique:
            return utc.to_numpy(), zone
    return None
