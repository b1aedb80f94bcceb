"""The models of a watch: which files say what they are, and whether one fits its source."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from caps.errors import InputError
from caps.fitted_model import FittedModel
from caps.series import duration
from caps.watch.sources import Source

LOOK = 1.0  # seconds between looks at files
ModelOf = Callable[[str], FittedModel | None]


class Followed:
    """Files that say what a model is and what is no alarm, and whether they were changed."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}  # by text: looked at every second, thousands of them
        self.looked_at = 0.0

    def follow(self, *paths: Path) -> None:
        """Look after some more."""
        names = [os.fspath(path) for path in paths]
        self.times |= {name: changed_at(name) for name in names if name not in self.times}

    def changed(self, *, now: bool = False) -> bool:
        """Whether one was changed since the last look; there is one a second, or `now`."""
        if not now and time.monotonic() - self.looked_at < LOOK:
            return False
        self.looked_at = time.monotonic()
        new = {path: changed_at(path) for path in self.times}
        old, self.times = self.times, new
        return new != old


def changed_at(path: str | Path) -> int:
    """When a file was changed; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:  # there is none, or it is just being replaced
        return 0


# Any of the models in a folder, and the one for a series id, as it is now; True: a folder of them
# will do. The files that were read are followed.
Models = Callable[[Path, bool, Followed], tuple[FittedModel, ModelOf]]


def check_fits(model: FittedModel, name: str, source: Source) -> None:
    """Refuse a model of other channels or of another step than its source has."""
    fitted = model.fitted_
    if source.channels is not None and source.channels != fitted.names:
        raise InputError(
            f"the model of {name!r} has the channels {', '.join(fitted.names)}, its source gives "
            f"{', '.join(source.channels)}",
            "name queries as at the fit, --query NAME=PROMQL; watch files of other channels apart",
        )
    if source.step is not None and fitted.step != source.step:
        known = "none" if fitted.step is None else duration(fitted.step)
        raise InputError(
            f"the model of {name!r} has a step of {known}, the watch one of "
            f"{duration(source.step)}",
            "give the same --step as at the fit, or fit again",
        )
