"""Exported models beside theirs on real series; sizes of files and environments, import times."""

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from importlib import metadata
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement

from caps import CAPS
from caps.bench.datasets import SeriesFile
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.export import OnnxModel, write_onnx
from caps.network import DetectorConfig
from caps.realize import Pretrained
from caps.scoring.fitted import Fitted
from caps.series import Series
from tools import ROOT
from tools.machine import machine, processor_seconds, size_of
from tools.series_files import by_size, read_table

MOST_ROWS = 4000  # of a series
CAUSAL_ROWS = 500  # at its end, each of which is a window
CHEAP = DetectorConfig(members=1, steps=60)  # it is equality that counts
CLOSE = 1e-5
TIMES = 5  # the best of so many imports
SIZES = """
import json
from importlib import metadata
sizes = {}
for each in metadata.distributions():
    files = [file.locate() for file in each.files or ()]
    sizes[each.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""
LOAD_BY_TORCH = "from caps import CAPS\nmodel = CAPS.load('model')\n"
LOAD_ALONE = "from caps.export import OnnxModel\nmodel = OnnxModel.load('model.onnx')\n"
SCORE = "import sys, numpy\nmodel.{}(numpy.load('values.npy'))\n"
CHECK = "assert 'torch' not in sys.modules\n"
SERIES, QUICK_SERIES = 20, 2


def export(run: StudyRun) -> Report:
    """Equality on series of as many datasets as there are, then sizes and times."""
    files = _chosen(run.needed(), QUICK_SERIES if run.quick else SERIES)
    rows, equal = [], 0
    with tempfile.TemporaryDirectory() as name:
        for file in files:
            run.say(file.name)
            row, agrees = _compare(file, Path(name), run.pretrained)
            rows.append(row)
            equal += agrees
        sizes = _measured(Path(name), run.pretrained)
    note = f"{equal} of {len(rows)} within {CLOSE:g}."
    equality = Table(
        "onnx equality",
        "Largest differences of scores",
        ["series", "rows", "batch", "causal", "stream", "file"],
        rows,
        [note],
    )
    return Report(
        "Exported models",
        [
            "One small network each; the whole series at once, its last 500 rows from the past "
            "alone, and the same rows one at a time through a stream."
        ],
        [equality, sizes],
        wanted=f"all within {CLOSE:g} of the model itself",
        passed=equal == len(rows),
    )


def _chosen(files: Sequence[SeriesFile], count: int) -> list[SeriesFile]:
    """Series of as many datasets as there are, the shortest file of each first."""
    turns = chain.from_iterable(zip_longest(*by_size(files).values()))
    return [file for file in turns if file is not None][:count]


def _apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference; infinite where one of them says nothing."""
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float("inf")
    return float(np.nanmax(np.abs(ours - theirs), initial=0.0))


def _compare(file: SeriesFile, folder: Path, weights: Pretrained) -> tuple[list[Entry], bool]:
    """A row of the largest differences of scores, and whether all ways agree."""
    values = read_table(file)[0].iloc[:, 0].to_numpy(dtype=np.float64)[:MOST_ROWS]
    train = min(file.train, len(values) // 2)
    apart, size = [], 0
    for causal in (False, True):
        model = CAPS(references=32, detector=CHEAP, causal=causal, pretrained=weights)
        written = write_onnx(model.fit(values[:train]), folder / "model.onnx")
        exported, size = OnnxModel.load(written.path), written.size
        if causal:
            theirs = _last(model.fitted_, values)
            apart += [_apart(_last(exported.fitted_, values), theirs)]
            apart += [_apart(_streamed(exported, values), theirs)]
        else:
            apart += [_apart(exported.decision_function(values), model.decision_function(values))]
    name = f"{file.dataset} {file.name.partition('_id_')[2].partition('_')[0]}"
    shown = [f"{each:.1e}" for each in apart]
    row = [name, f"{len(values):,}", *shown, f"{size / 1e6:.2f} MB"]
    return row, max(apart) <= CLOSE


def _last(fitted: Fitted, values: np.ndarray) -> np.ndarray:
    """Scores of the last rows."""
    series = Series(values[:, None], np.isfinite(values)[:, None], fitted.names)
    return fitted.score(series, last=CAUSAL_ROWS).score


def _streamed(exported: OnnxModel, values: np.ndarray) -> np.ndarray:
    """The same, one row at a time, after as many as they depend on."""
    stream, first = exported.stream(), len(values) - CAUSAL_ROWS
    stream.extend(values[max(0, first - exported.fitted_.context) : first])
    return np.array([stream.update(value).score for value in values[first:].tolist()])


def _required(name: str) -> set[str]:
    """A distribution and all it needs, here and now."""
    known: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop().lower().replace("_", "-")
        if each in known:
            continue
        known.add(each)
        for text in metadata.requires(each) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                waiting.append(wanted.name)
    return known


def _sizes(python: Path | str) -> dict[str, int]:
    """Bytes of every distribution that a Python has installed."""
    answer = subprocess.run([str(python), "-c", SIZES], capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(answer.stdout)
    return {name.lower().replace("_", "-"): size for name, size in found.items()}


def _import_time(python: Path | str, code: str, folder: Path) -> str:
    """Processor time of a process, the least of several."""
    taken = []
    for _ in range(TIMES):
        before = processor_seconds()
        subprocess.run([str(python), "-c", code], check=True, cwd=folder)
        taken.append(processor_seconds() - before)
    return f"{min(taken):.2f} s"


def _environment(folder: Path) -> tuple[Path, Path]:
    """A wheel of this project, and the Python of an environment that can only score."""
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("caps_tsad-*.whl")
    venv.create(folder / "small", with_pip=False)
    python = folder / "small" / "bin" / "python"
    install = [*pip, "--python", str(python), "install"]
    subprocess.run([*install, "numpy", "onnxruntime"], check=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    return wheel, python


def _measured(folder: Path, weights: Pretrained) -> Table:
    """Sizes and times of the way with torch and of the way without."""
    wheel, small = _environment(folder)
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(2000) / 8) + 0.1 * rng.standard_normal(2000)
    model = CAPS(detector="auto", members=1, references=64, causal=True, pretrained=weights).fit(
        values
    )
    model.save(folder / "model")
    written = write_onnx(model, folder / "model.onnx")
    np.save(folder / "values.npy", values)
    by_torch = LOAD_BY_TORCH + SCORE.format("decision_function")
    alone = LOAD_ALONE + SCORE.format("decision_function")
    subprocess.run([str(small), "-c", alone + CHECK], check=True, cwd=folder)
    inside = _sizes(small)
    others = _required("caps-tsad") - {"caps-tsad"}  # itself may be installed in place here
    large = sum(size for name, size in _sizes(sys.executable).items() if name in others)
    large += inside["caps-tsad"]
    nothing = _import_time(small, "pass", folder)

    def imports(by_python: str, in_small: str) -> list[str]:
        return [
            _import_time(sys.executable, by_python, folder),
            _import_time(small, in_small, folder),
        ]

    on_disk = size_of(folder / "model"), written.size
    rows: list[list[Entry]] = [
        [
            "installed",
            f"{large / 1e6:.0f} MB",
            f"{sum(inside.values()) / 1e6:.0f} MB ({', '.join(sorted(inside))})",
        ],
        ["import and load", *imports(LOAD_BY_TORCH, LOAD_ALONE)],
        ["import, load and score 2,000 rows", *imports(by_torch, alone)],
        ["model on disk", *(f"{size / 1e6:.2f} MB" for size in on_disk)],
    ]
    return Table(
        "onnx sizes",
        "Sizes and times",
        ["what", "with torch", "numpy and onnxruntime"],
        rows,
        [
            f"The wheel has {wheel.stat().st_size / 1e6:.1f} MB, most of it the pretrained "
            f"weights, which scoring never reads. Processor time, the least of {TIMES}; Python "
            f"alone takes {nothing}. Machine: {machine()}."
        ],
    )
