"""What a study is given, what it reports, and how the report is written."""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import caps
from caps.artifacts import write_text
from caps.bench.datasets import SeriesFile
from caps.bench.rendering import Table, as_json, markdown
from caps.bench.runner import RunProgress
from caps.bench.settings import weights_hash
from caps.bench.source_code import code_of
from caps.bench.studies.variants import Setting, make_variant
from caps.errors import InputError
from caps.json_text import parse_json
from caps.network import DetectorConfig
from caps.plots import write_png
from caps.realize import Preset, Pretrained

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from caps.bench.settings import MakeMethod

# One short series of each of five datasets, taken by length without looking at scores.
QUICK_SERIES = (
    "026_NAB_id_26_Traffic_tr_624_1st_2261.csv",
    "283_NEK_id_7_WebService_tr_500_1st_777.csv",
    "289_TODS_id_3_Synthetic_tr_500_1st_26.csv",
    "391_UCR_id_89_Medical_tr_1875_1st_5759.csv",
    "693_YAHOO_id_143_WebService_tr_500_1st_1003.csv",
)
MULTIVARIATE = ("MSL", "PSM", "SMAP", "SMD")


@dataclass(frozen=True)
class StudyRun:
    """One call of a study: the data, the budget and where results go.

    Cells of all studies lie together in `out/cells`, so that what they share is computed once.
    """

    out: Path
    files: Sequence[SeriesFile] = ()
    quick: bool = False
    seeds: Sequence[int] = (0,)
    jobs: int = 1
    weights: Path | None = None  # the pretraining under study; None = the shipped one
    preset: Preset | None = None  # of the pretrainings that a study makes itself
    detector: DetectorConfig | None = None
    published: Path | None = None  # TSB-AD's CSV of VUS-PR per series
    command: str = ""
    say: Callable[[str], None] = lambda _: None
    progress: RunProgress | None = None

    @cached_property
    def setting(self) -> Setting:
        """What the variants of every study share."""
        folder = None if self.weights is None else str(self.weights.resolve())
        return Setting(folder, str((self.out / "weights").resolve()), self.detector)

    @property
    def make(self) -> "MakeMethod":
        """The methods of the studies by name, for the runner."""
        return partial(make_variant, self.setting)

    @cached_property
    def pretrained(self) -> Pretrained:
        """The weights under study."""
        return Pretrained.load(self.weights)

    def needed(
        self,
        *,
        datasets: Sequence[str] | None = None,
        quick: Sequence[str] = QUICK_SERIES,
        most: int | None = None,
    ) -> list[SeriesFile]:
        """The series of a study: all there are or, for a quick one, those of a fixed list.

        Without `datasets` only series of one channel are taken. Data without any series of the
        list give the first of each dataset instead; `most` limits how many a quick study takes.
        """
        there = [
            file
            for file in self.files
            if (file.dataset in datasets if datasets else file.dataset not in MULTIVARIATE)
        ]
        if not there:
            wanted = "series" if datasets is None else f"series of {', '.join(datasets)}"
            raise InputError(f"this study needs {wanted}", "give TSB-AD zips or folders by --data")
        if not self.quick:
            return there
        listed = [file for file in there if file.name in quick]
        first = {file.dataset: file for file in reversed(there)}
        return (listed or list(reversed(first.values())))[:most]

    def kept(
        self, name: str, key: Mapping[str, Any], make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """What `make` returns, a JSON value, kept for the next call with the same `key`.

        And with the same code behind it: other code would give another value.
        """
        module = (make.func if isinstance(make, partial) else make).__module__
        facts = {**key, "version": caps.__version__, "code": code_of(module)}
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
        path = self.out / "kept" / f"{name}.{digest}.json"
        if path.is_file():
            stored: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
            return stored
        made = make()
        write_text(path, json.dumps(made, allow_nan=False) + "\n")
        return made

    def weights_facts(self) -> dict[str, Any]:
        """Which weights were studied."""
        facts = self.pretrained.facts
        return {
            "manifest_sha256": weights_hash(self.weights),
            "preset": self.pretrained.preset.name,
            "seed": facts.get("seed"),
            "shipped": self.weights is None,
        }


@dataclass(frozen=True)
class Report:
    """What came of a study."""

    title: str
    protocol: Sequence[str]
    tables: Sequence[Table]
    verdict: Sequence[str] = ()  # against the paper, contradictions named
    figures: Mapping[str, "Figure"] = field(default_factory=dict)  # caption -> figure
    facts: Mapping[str, Any] = field(default_factory=dict)
    wanted: str = ""  # what the figures should reach, where they should
    passed: bool = True  # whether they do


@dataclass(frozen=True, slots=True)
class Study:
    """A study `some-name` is the function `some_name` of a module, imported when it is run.

    Or else the plan of this name that the module has, done by its function `planned_study`.
    """

    name: str
    question: str
    module: str

    def __call__(self, run: StudyRun) -> Report:
        """Measure."""
        module = import_module(self.module)
        function = getattr(module, self.name.replace("-", "_"), None)
        report: Report = function(run) if function else module.planned_study(self.name, run)
        return report


def write_report(study: Study, report: Report, run: StudyRun) -> Path:
    """Write `results/NAME.md`, `.json` and the figures below `run.out`; returns the page."""
    folder = run.out / "results"
    pictures = {}
    for number, (caption, figure) in enumerate(report.figures.items()):
        path = folder / (f"{study.name}.png" if number == 0 else f"{study.name}-{number + 1}.png")
        write_png(figure, path)
        pictures[caption] = path.name
    facts = _facts(study.name, report, run)
    write_text(folder / f"{study.name}.json", json.dumps(facts, indent=1, allow_nan=False) + "\n")
    page = folder / f"{study.name}.md"
    write_text(page, _page(study.question, report, run, pictures))
    return page


def write_sections(page: Path, tables: Sequence[Table]) -> None:
    """Put tables between the marks of a page that bear their names.

    A mark `NAME` takes the table `NAME` and those called `NAME: ...` after it.
    """
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"<!-- (.+): begin -->", text):
        chosen = [each for each in tables if each.name == name or each.name.startswith(f"{name}: ")]
        if chosen:
            begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
            before, _, rest = text.partition(begin)
            after = rest.partition(end)[2]
            body = "\n\n".join(_in_text(each, titled=len(chosen) > 1) for each in chosen)
            text = f"{before}{begin}\n{body}\n\n{end}{after}"
    write_text(page, text)


def _in_text(table: Table, *, titled: bool) -> str:
    body = markdown([table], "").partition(f"## {table.title}\n\n")[2].rstrip()
    return f"{table.title}:\n\n{body}" if titled else body


def _page(question: str, report: Report, run: StudyRun, pictures: Mapping[str, str]) -> str:
    title, _, tables = markdown(report.tables, report.title).partition("\n\n")
    weights = run.weights_facts()
    origin = "shipped with CAPS" if weights["shipped"] else "given by --weights"
    size = (
        "quick, enough to show the way and too little to settle anything" if run.quick else "full"
    )
    lines = [
        title,
        question,
        f"`{run.command}`" if run.command else "Called from Python.",
        f"Size: {size}. Seeds: {', '.join(map(str, run.seeds))}. Weights under study: "
        f"{origin}, preset `{weights['preset']}`, manifest {weights['manifest_sha256']}.",
        *report.protocol,
        tables.rstrip(),
        *(f"![{caption}]({file})\n\n{caption}" for caption, file in pictures.items()),
    ]
    if report.verdict:
        lines += ["## Against the paper", "\n".join(f"- {line}" for line in report.verdict)]
    if report.wanted:
        reached = "Reached" if report.passed else "**Missed**"
        lines += ["## Wanted", f"{reached}: {report.wanted}."]
    return "\n\n".join(lines) + "\n"


def _facts(name: str, report: Report, run: StudyRun) -> dict[str, Any]:
    return {
        "study": name,
        "title": report.title,
        "command": run.command,
        "quick": run.quick,
        "seeds": list(run.seeds),
        "weights": run.weights_facts(),
        "protocol": list(report.protocol),
        "tables": {table.name: as_json(table) for table in report.tables},
        "verdict": list(report.verdict),
        "passed": report.passed,
        **report.facts,
        "versions": {"caps": caps.__version__, "python": platform.python_version()},
    }
