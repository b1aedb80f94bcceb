"""Methods of others, run by TSB-AD 1.5's own code in a Python of its own.

TSB-AD needs numpy<2, so its models run in another virtual environment (`make peers`) as a child
process: arrays go there and come back as `.npy` files, its output is kept for the error message.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

import numpy as np

from caps.arrays import FloatArray
from caps.baselines.protocol import bridged, checked, not_fitted
from caps.errors import CapsError, InputError
from caps.metrics import acf_window

PYTHON_VARIABLE = "CAPS_PEERS_PYTHON"
LIMIT = 3600.0  # seconds of one fit with its scores
TAIL = 1500  # characters of output shown of a peer that failed


class PeerError(CapsError):
    """A peer crashed, ran past its time limit or gave no usable scores."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The name of a model in TSB-AD, and window and learning rate for one and for many channels."""

    model: str
    univariate: tuple[int, float]
    multivariate: tuple[int, float] | None = None  # None: as for one

    def of(self, series: FloatArray) -> dict[str, float]:
        """The arguments for a series (time, channel)."""
        several = series.shape[1] > 1
        size, rate = (self.multivariate if several else None) or self.univariate
        return {"win_size": size, "lr": rate}


@dataclass(frozen=True, slots=True)
class OnItself:
    """A model that learns from the very series it scores, of one channel; its window: a period."""

    model: str
    power: int | None = None  # degree of a polynomial, where the model has one

    def of(self, series: FloatArray) -> dict[str, float]:
        """The arguments for a series (time, channel)."""
        if series.shape[1] > 1:
            raise InputError(
                f"{self.model} for {series.shape[1]} channels", "give it series of one channel"
            )
        window = acf_window(series)
        return {"window": window} if self.power is None else {"window": window, "power": self.power}


class Peer:
    """One model of TSB-AD; `score` starts the child, which learns and scores in one go."""

    def __init__(
        self,
        configuration: Configuration | OnItself,
        seed: int,
        *,
        python: Path | None = None,
        limit: float = LIMIT,
    ) -> None:
        self.configuration, self.seed = configuration, seed
        self.python, self.limit = python, limit
        self.train: FloatArray | None = None

    def fit(self, train: FloatArray) -> Self:
        """Keep the training part and make sure that there is a Python to run the model."""
        self.python = self.python or peers_python()
        self.train = bridged(checked(train))
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """Train the model on the training part and score every row."""
        if self.train is None or self.python is None:
            raise not_fitted()
        series = bridged(checked(series, self.train.shape[1]))
        with tempfile.TemporaryDirectory(prefix="caps-peer-") as name:
            folder = Path(name)
            np.save(folder / "train.npy", self.train)
            np.save(folder / "series.npy", series)
            order = {
                "model": self.configuration.model,
                "settings": self.configuration.of(series),
                "seed": self.seed,
            }
            (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
            output = self._run(self.python, folder)
            return self._scores(folder / "scores.npy", len(series), output)

    def settings(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed and the Python that runs it."""
        script = hashlib.sha256(_script().read_bytes()).hexdigest()[:12]
        return {"configuration": asdict(self.configuration), "script": script}

    def _run(self, python: Path, folder: Path) -> str:
        """Run the child in the folder and return what it printed.

        Isolated (`-I`), so that it finds no module of CAPS where it looks for one of its own.
        """
        with resources.as_file(_script()) as path, (folder / "output.txt").open("wb") as sink:
            try:
                done = subprocess.run(
                    [str(python), "-I", "-u", str(path), str(folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    timeout=self.limit,
                    check=False,
                )
                status = done.returncode
            except subprocess.TimeoutExpired:
                raise PeerError(
                    f"{self.configuration.model} took more than {self.limit:g} s",
                    "give it a longer limit or a shorter series",
                ) from None
            except OSError as error:
                raise InputError(
                    f"{python} cannot be started ({error})", "run `make peers`"
                ) from error
        output = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        if status != 0:
            raise self._failed(f"ended with status {status}", output)
        return output

    def _scores(self, path: Path, rows: int, output: str) -> FloatArray:
        try:
            scores = np.load(path, allow_pickle=False)
        except (OSError, ValueError):
            raise self._failed("wrote no scores", output) from None
        if scores.shape != (rows,) or scores.dtype.kind != "f":
            raise self._failed(
                f"gave {scores.dtype} scores of shape {scores.shape} for {rows} rows", output
            )
        if not np.isfinite(scores).all():
            raise self._failed("gave scores that are not finite", output)
        return np.asarray(scores, dtype=np.float64)

    def _failed(self, how: str, output: str) -> PeerError:
        shown = output.strip()[-TAIL:]
        return PeerError(
            f"{self.configuration.model} {how}",
            "give it more rows if the last fifth of the training part, which it keeps for "
            f"validation, or the series is shorter than its window; it printed last:\n{shown}",
        )


def peers_python() -> Path:
    """The Python with TSB-AD: of the variable CAPS_PEERS_PYTHON, or in ./.venv-peers."""
    named = os.environ.get(PYTHON_VARIABLE)
    executable = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    python = Path(named) if named else Path(".venv-peers") / executable
    if not python.is_file():
        raise InputError(
            f"TSB-AD's methods need a Python of their own, and there is none at {python}",
            f"run `make peers`, or set {PYTHON_VARIABLE} to a Python with TSB-AD 1.5",
        )
    return python.absolute()  # not resolved: a virtual environment's Python is a link


def _script() -> Traversable:
    return resources.files("caps.baselines").joinpath("peer_script.py")


# Window and learning rate for one channel and, where they differ, for many. The windows the paper
# names; what it does not name is TSB-AD's.
PAPER: Mapping[str, Configuration] = {
    "omnianomaly": Configuration("OmniAnomaly", (100, 0.002)),
    "usad": Configuration("USAD", (100, 1e-3)),
    "tranad": Configuration("TranAD", (10, 1e-4), (10, 1e-3)),
    "anomaly-transformer": Configuration("AnomalyTransformer", (50, 1e-3)),
    "timesnet": Configuration("TimesNet", (32, 1e-4), (96, 1e-4)),
    "fits": Configuration("FITS", (100, 1e-4), (100, 1e-3)),
}
# TSB-AD's tuned settings, where they are not the paper's: running the same twice tells nothing.
CONFIGURATIONS: Mapping[str, Configuration] = {
    **PAPER,
    "omnianomaly-tsb": Configuration("OmniAnomaly", (5, 0.002), (100, 0.002)),
}
# Two light ones with TSB-AD's tuned settings.
ON_ITSELF: Mapping[str, OnItself] = {
    "kshapead-tsb": OnItself("KShapeAD"),
    "poly-tsb": OnItself("POLY", power=4),
}
