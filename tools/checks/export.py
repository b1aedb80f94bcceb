"""Compare exported models with theirs on real series, and measure files, environments and imports.

PYTHONPATH=tools python tools/checks/export.py TSB-AD-U.zip docs/export.md
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import venv
import zipfile
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from sections import machine, markdown, rewrite

from caps import CAPS
from caps.events.kinds import load_weights
from caps.export import OnnxModel, write_onnx
from caps.network.config import DetectorConfig
from caps.scoring.fitted import Fitted
from caps.series import Series

MOST_ROWS = 4000  # of a series
CAUSAL_ROWS = 500  # at its end, each of which is a window
CHEAP = DetectorConfig(members=1, steps=60)  # it is equality that counts
CLOSE = 1e-5
TIMES = 5  # the best of so many imports
NAME = re.compile(r"\d+_(?P<set>.+?)_id_(?P<id>\d+)_.*_tr_(?P<train>\d+)_1st_\d+\.csv")
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


@dataclass(frozen=True)
class Compared:
    """One series by both."""

    name: str
    rows: int
    batch: float  # largest difference of scores
    causal: float
    stream: float
    size: int

    @property
    def equal(self) -> bool:
        return max(self.batch, self.causal, self.stream) <= CLOSE

    def row(self) -> tuple[str, ...]:
        apart = (f"{each:.1e}" for each in (self.batch, self.causal, self.stream))
        return self.name, f"{self.rows:,}", *apart, f"{self.size / 1e6:.2f} MB"


def chosen(archive: zipfile.ZipFile, count: int) -> list[str]:
    """Series of as many sets as there are, the shortest file of each first."""
    by_set: dict[str, list[zipfile.ZipInfo]] = {}
    for entry in archive.infolist():
        if found := NAME.fullmatch(Path(entry.filename).name):
            by_set.setdefault(found["set"], []).append(entry)
    for entries in by_set.values():
        entries.sort(key=lambda entry: entry.file_size)
    turns = max(len(entries) for entries in by_set.values())
    order = [each[k].filename for k in range(turns) for each in by_set.values() if k < len(each)]
    return order[:count]


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference; infinite where one of them says nothing."""
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float("inf")
    return float(np.nanmax(np.abs(ours - theirs), initial=0.0))


def compare(archive: zipfile.ZipFile, member: str, folder: Path, weights: object) -> Compared:
    found = NAME.fullmatch(Path(member).name)
    assert found is not None
    with archive.open(member) as file:
        values = pd.read_csv(file).iloc[:, 0].to_numpy(dtype=np.float64)[:MOST_ROWS]
    train = min(int(found["train"]), len(values) // 2)
    model = CAPS(references=32, detector=CHEAP, pretrained=weights).fit(values[:train])
    written = write_onnx(model, folder / "model.onnx")
    exported = OnnxModel.load(written.path)
    # The same networks asked for the past alone: it is the way of scoring that is compared.
    past = [replace(each, causal=True) for each in (exported.fitted_, model.fitted_)]
    series = Series(values[:, None], np.isfinite(values)[:, None], exported.names_)
    causal = [each.score(series, last=CAUSAL_ROWS).score for each in past]
    return Compared(
        f"{found['set']} {found['id']}",
        len(values),
        apart(exported.decision_function(values), model.decision_function(values)),
        apart(*causal),
        apart(streamed(exported, past[0], values), causal[1]),
        written.size,
    )


def streamed(exported: OnnxModel, past: Fitted, values: np.ndarray) -> np.ndarray:
    """The last rows one at a time, after as many as they depend on."""
    stream = OnnxModel(past, exported.alarms, exported.bets_).stream()
    first = len(values) - CAUSAL_ROWS
    stream.extend(values[max(0, first - past.context) : first])
    return np.array([stream.update(value).score for value in values[first:].tolist()])


def required(name: str) -> set[str]:
    """A distribution and all it needs, here and now."""
    from packaging.requirements import Requirement

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


def sizes(python: Path | str) -> dict[str, int]:
    """Bytes of every distribution that a Python has installed."""
    told = subprocess.run([str(python), "-c", SIZES], capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(told.stdout)
    return {name.lower().replace("_", "-"): size for name, size in found.items()}


def import_time(python: Path | str, code: str, folder: Path) -> float:
    """Processor seconds of a process, the least of several."""
    taken = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(python), "-c", code], check=True, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def environment(folder: Path) -> tuple[Path, Path]:
    """A wheel of this project, and the Python of an environment that can only score."""
    pip = [sys.executable, "-m", "pip", "-q"]
    root = Path(__file__).parents[2]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(root)], check=True)
    (wheel,) = folder.glob("caps_tsad-*.whl")
    venv.create(folder / "small", with_pip=False)
    python = folder / "small" / "bin" / "python"
    install = [*pip, "--python", str(python), "install"]
    subprocess.run([*install, "numpy", "onnxruntime"], check=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    return wheel, python


def measured(folder: Path, weights: object) -> str:
    """Sizes and times of the way with torch and of the way without, as a table."""
    wheel, small = environment(folder)
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(2000) / 8) + 0.1 * rng.standard_normal(2000)
    model = CAPS(members=1, references=64, causal=True, pretrained=weights).fit(values)
    model.save(folder / "model")
    written = write_onnx(model, folder / "model.onnx")
    np.save(folder / "values.npy", values)
    by_torch = LOAD_BY_TORCH + SCORE.format("decision_function")
    alone = LOAD_ALONE + SCORE.format("score")
    subprocess.run([str(small), "-c", alone + CHECK], check=True, cwd=folder)
    inside = sizes(small)
    others = required("caps-tsad") - {"caps-tsad"}  # itself may be installed in place here
    large = sum(size for name, size in sizes(sys.executable).items() if name in others)
    large += inside["caps-tsad"]
    nothing = import_time(small, "pass", folder)
    rows = [
        (
            "installed",
            f"{large / 1e6:.0f} MB",
            f"{sum(inside.values()) / 1e6:.0f} MB ({', '.join(sorted(inside))})",
        ),
        (
            "import and load",
            f"{import_time(sys.executable, LOAD_BY_TORCH, folder):.2f} s",
            f"{import_time(small, LOAD_ALONE, folder):.2f} s",
        ),
        (
            "import, load and score 2,000 rows",
            f"{import_time(sys.executable, by_torch, folder):.2f} s",
            f"{import_time(small, alone, folder):.2f} s",
        ),
        (
            "model on disk",
            f"{sum(f.stat().st_size for f in (folder / 'model').iterdir()) / 1e6:.2f} MB",
            f"{written.size / 1e6:.2f} MB",
        ),
    ]
    return (
        f"{markdown(('what', 'with torch', 'numpy and onnxruntime'), rows)}\n"
        f"The wheel has {wheel.stat().st_size / 1e6:.1f} MB, most of it the pretrained weights, "
        f"which scoring never reads. Processor time, the least of {TIMES}; Python alone takes "
        f"{nothing:.2f} s. Machine: {machine()}.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path, help="TSB-AD-U.zip")
    parser.add_argument("document", type=Path, nargs="?", help="page to write the tables into")
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--only", choices=["equality", "sizes"])
    arguments = parser.parse_args()
    weights = load_weights(None)
    tables: dict[str, str] = {}
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only != "sizes":
            compared = []
            with zipfile.ZipFile(arguments.archive) as archive:
                for member in chosen(archive, arguments.series):
                    compared.append(compare(archive, member, folder, weights))
                    print(*compared[-1].row(), flush=True)
            failed = not all(each.equal for each in compared)
            header = ("series", "rows", "batch", "causal", "stream", "file")
            equal = sum(each.equal for each in compared)
            tables["onnx equality"] = (
                markdown(header, [each.row() for each in compared])
                + f"\n{equal} of {len(compared)} within {CLOSE:g}.\n"
            )
        if arguments.only != "equality":
            tables["onnx sizes"] = measured(folder, weights)
    for section, text in tables.items():
        print(text)
        if arguments.document is not None:
            rewrite(arguments.document, section, text)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
