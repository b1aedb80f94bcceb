"""Studies: variants by name, differences that are judged, pages that say how they came to be."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edited_source import Edit

from caps.bench.caps_methods import SMALL
from caps.bench.cells import read_cells
from caps.bench.datasets import find_series, load_series
from caps.bench.methods import make_method
from caps.bench.published import paper_studies
from caps.bench.rendering import Table
from caps.bench.settings import config_hash
from caps.bench.studies.catalogue import STUDIES, run_study
from caps.bench.studies.comparison import Comparison, Row
from caps.bench.studies.contamination import _donate, natural_contamination
from caps.bench.studies.context_gap import decompose
from caps.bench.studies.study import Report, Study, StudyRun, write_report, write_sections
from caps.bench.studies.variants import series_mark
from caps.bench.summary import cell_frame
from caps.cli.main import main
from caps.errors import InputError
from caps.network import AUTO, DetectorConfig
from caps.series import Scaler
from untrained_weights import FAST, save_untrained_weights


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(folder)
    return folder


@pytest.fixture
def quick(tmp_path: Path, weights: Path) -> StudyRun:
    return StudyRun(tmp_path / "out", quick=True, weights=weights, detector=FAST, command="caps")


def records(method: str, values: dict[str, float]) -> list[dict]:
    metrics = ("affiliation_f", "f1_t", "standard_f1", "vus_pr")
    return [
        {
            "format": 1,
            "method": method,
            "dataset": "NAB",
            "series": name,
            "seed": 0,
            "config": "x",
            "status": "done",
            "channels": 1,
            "test": dict.fromkeys(metrics, value),
            "whole": {},
            "seconds": {},
        }
        for name, value in values.items()
    ]


def compared(own: dict[str, float], other: dict[str, float]) -> Comparison:
    rows = [Row("CAPS", "caps:alone"), Row("Shuffled residuals", "caps:shuffled", "CAPS")]
    cells = records("caps:alone", own) + records("caps:shuffled", other)
    return Comparison("ablations", rows, cell_frame(cells))


def test_every_study_of_the_paper_with_figures_has_a_name() -> None:
    studies = set(paper_studies().index.get_level_values("study"))
    assert studies <= set(STUDIES)
    assert len(STUDIES) == 20


def test_a_clear_difference_against_the_paper_is_called_a_contradiction() -> None:
    (line,) = compared({"a": 0.1, "b": 0.2, "c": 0.3}, {"a": 0.2, "b": 0.31, "c": 0.4}).verdict()
    assert "contradicts the paper" in line
    assert "VUS-PR +10.3 ± 0.3 (paper -5.5)" in line


def test_a_difference_within_noise_is_not_called_a_contradiction() -> None:
    (line,) = compared({"a": 0.1, "b": 0.2, "c": 0.3}, {"a": 0.3, "b": 0.1, "c": 0.3}).verdict()
    assert "not beyond noise" in line
    assert "contradicts" not in line


def test_a_difference_with_the_paper_is_said_to_point_its_way() -> None:
    (line,) = compared({"a": 0.2, "b": 0.3}, {"a": 0.1, "b": 0.1}).verdict()
    assert "points the paper's way in every metric" in line


def test_differences_are_paired_by_series() -> None:
    comparison = compared({"a": 0.2, "b": 0.5, "only here": 0.9}, {"a": 0.1, "b": 0.4})
    gaps = comparison.gaps(comparison.rows[1], "vus_pr")
    assert gaps.round(6).to_dict() == {"a": -10.0, "b": -10.0}
    table = comparison.table("Ablations")
    assert [row[0] for row in table.rows] == ["CAPS", "Shuffled residuals"]
    assert table.rows[1][5].text == "-10.00 ± 0.00 [-10.00, -10.00]"
    assert table.rows[1][-1] == "79.27 / 41.21 / 37.78 / 41.30"


def test_one_failed_cell_is_told_and_counts_in_no_mean() -> None:
    cells = records("caps:alone", {"a": 0.2}) + records("caps:shuffled", {"a": 0.1})
    cells[1] |= {"status": "failed", "error": "no luck"}
    del cells[1]["test"]
    rows = [Row("CAPS", "caps:alone"), Row("Shuffled residuals", "caps:shuffled", "CAPS")]
    table = Comparison("ablations", rows, cell_frame(cells)).table("Ablations")
    assert "1 of 2 cells failed" in table.notes[0]
    assert table.rows[1][1].value is None


def test_variants_are_told_apart_by_their_settings_and_weights(quick: StudyRun) -> None:
    names = ["caps:alone", "caps:shuffled", "caps:direct", "caps:top5", "caps:transformer"]
    hashes = {config_hash(name, quick.make) for name in names}
    assert len(hashes) == len(names)
    assert quick.make("caps:alone", 3).model.seed == 3
    assert not quick.make("caps:alone", 0).model.level
    with pytest.raises(InputError, match="there is no variant"):
        quick.make("caps:nonsense", 0)
    with pytest.raises(InputError, match="holds no weights"):
        config_hash("caps:trained-nowhere", quick.make)


def test_the_variants_and_the_small_method_of_the_bench_are_one_configuration(
    quick: StudyRun,
) -> None:
    given = dict(detector=None, pretrained=None, cache=None)
    small = make_method("caps-small", 0).model.get_params() | given
    for name in ("caps:alone", "caps:diagnosis"):
        assert quick.make(name, 0).model.get_params() | given == small
    assert make_method("caps-diagnosis", 0).model.get_params() | given == small
    alone = {"memory": False, "level": False, "switches": True, "perturbed": False}
    assert {"detector": DetectorConfig(), **alone} == SMALL


def test_options_of_training_change_the_detector_alone(quick: StudyRun) -> None:
    plain = quick.make("caps:plain", 0).model.get_params()
    assert plain["detector"] == FAST
    events = quick.make("caps:events", 0).model.get_params()
    assert events == plain | {"detector": replace(FAST, weighting="events")}
    beyond = quick.make("caps:beyond-alone", 0).model.get_params()
    assert beyond["detector"].weighting == AUTO.weighting
    assert beyond["detector"].steps == FAST.steps
    for name in ("resized", "shuffled", "direct", "injection", "perturbation"):
        other = quick.make(f"caps:beyond-{name}", 0).model.get_params()
        assert other == beyond | {"construction": name}
    assert quick.make("caps:beyond-diagnosis", 0).model.get_params() == beyond
    assert make_method("caps-detector", 0).model.get_params()["detector"] == "auto"


def test_a_folder_of_counterparts_is_no_setting(quick: StudyRun) -> None:
    elsewhere = replace(quick, out=quick.out / "elsewhere")
    assert quick.make("caps:alone", 0).model.cache != elsewhere.make("caps:alone", 0).model.cache
    hashes = {config_hash("caps:alone", run.make) for run in (quick, elsewhere)}
    assert len(hashes) == 1


def test_what_a_study_keeps_is_made_again_when_a_constant_changes(
    quick: StudyRun, edit: Edit
) -> None:
    made: list[int] = []

    def make() -> dict:
        made.append(1)
        return {"value": len(made)}

    make.__module__ = "caps.bench.studies.contamination"
    for _ in range(2):
        assert quick.kept("some", {"key": 1}, make) == {"value": 1}
    edit("recover/contamination.py", r"^CLEAR = ", "CLEAR = 9 + ")
    assert quick.kept("some", {"key": 1}, make) == {"value": 2}


def test_the_same_weights_in_another_folder_are_the_same_variant(
    quick: StudyRun, tmp_path: Path, weights: Path
) -> None:
    shutil.copytree(weights, tmp_path / "copy")
    other = StudyRun(tmp_path / "o", weights=tmp_path / "copy", detector=FAST)
    assert config_hash("caps:alone", quick.make) == config_hash("caps:alone", other.make)


def test_a_study_of_detection_writes_a_page_and_computes_nothing_twice(
    data, write_series, quick: StudyRun
) -> None:
    for number in (1, 2):
        write_series("NAB", number)
    run = StudyRun(
        quick.out,
        find_series([data]),
        quick=True,
        weights=quick.weights,
        detector=FAST,
        command="caps bench study coverage --quick",
    )
    page, _ = run_study("coverage", run)
    text = page.read_text(encoding="utf-8")
    assert "`caps bench study coverage --quick`" in text
    assert "85.33 / 46.53 / 42.91 / 46.82" in text
    assert "## Against the paper" in text
    assert page.with_suffix(".png").stat().st_size > 1000
    facts = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert facts["series"] == ["001_NAB_id_1_Facility_tr_300_1st_450.csv"]
    assert facts["weights"]["manifest_sha256"] == run.weights_facts()["manifest_sha256"]
    cells = list(read_cells(run.out))
    assert {cell["method"] for cell in cells} == {"caps:all-modes", "caps:without-mode"}
    assert all(cell["status"] == "done" for cell in cells), cells
    before = {path: path.stat().st_mtime_ns for path in (run.out / "cells").rglob("*.json")}
    run_study("coverage", run)
    assert before == {path: path.stat().st_mtime_ns for path in (run.out / "cells").rglob("*.json")}


def test_anomalies_of_training_parts_are_counted(data, write_series, quick: StudyRun) -> None:
    write_series("NAB", 1, rows=1200, train=600, anomaly=(300, 330))
    write_series("TODS", 2, rows=1200, train=600, anomaly=(900, 930))
    run = StudyRun(quick.out, find_series([data]), quick=True, weights=quick.weights)
    report = natural_contamination(run)
    contaminated, clean = report.tables[0].rows
    assert contaminated[:2] == ["NAB", "1 of 1"]
    assert contaminated[2].value == pytest.approx(100 * 30 / 600)
    assert contaminated[3].value > 50
    assert contaminated[4].value > contaminated[5].value
    assert clean[:2] == ["TODS", "0 of 1"]
    assert clean[4].value is None
    assert any("not** the paper's" in line for line in report.verdict)


def test_contaminated_references_hold_anomalies_of_other_series_only(
    data, write_series, quick: StudyRun
) -> None:
    for number in (1, 2):
        write_series("KPI", number, rows=900, train=500, anomaly=(600, 640))
    files = find_series([data])
    run = StudyRun(quick.out, files, quick=True, weights=quick.weights, detector=FAST)
    _donate(run, files)
    train = load_series(files[0]).values[:500]
    clean, dirty = (run.make(f"caps:references-{share}", 0) for share in (0, 30))
    scaled = Scaler.fit(train).transform(train)[:, 0]
    for method in (clean, dirty):
        method._mark = series_mark(train)
    before, after = clean.references(scaled, 0), dirty.references(scaled, 0)
    changed = (before.windows != after.windows).any(axis=1)
    assert changed.sum() == round(0.3 * len(before))
    with np.load(dirty.donors) as stored:
        foreign = stored["windows"][stored["origin"] != series_mark(train)]
    assert all((window == foreign).all(axis=1).any() for window in after.windows[changed])
    with pytest.raises(InputError, match="write references-10"):
        run.make("caps:references-most", 0)


def test_the_variance_of_effects_is_split_into_context_and_noise() -> None:
    rng = np.random.default_rng(1)
    context = rng.standard_normal((4000, 1, 2))
    noise = 2 * rng.standard_normal((4000, 3, 2))
    part = decompose(context + noise)
    assert part.gap == pytest.approx(2, rel=0.15)
    assert part.left == pytest.approx(8, rel=0.05)
    assert decompose(np.zeros((4, 2, 3))).open == 0


def test_a_study_without_its_data_names_the_remedy(quick: StudyRun) -> None:
    with pytest.raises(InputError, match="needs series of YAHOO, NEK, TODS"):
        run_study("supervised", quick)
    with pytest.raises(InputError, match="there is no study 'ablation'"):
        run_study("ablation", quick)


def test_a_report_is_written_with_its_numbers_as_json(quick: StudyRun) -> None:
    table = Table("t", "T", ["a", "b"], [["x", "1"]])
    report = Report("Title", ["How."], [table], ["Agrees."])
    page = write_report(Study("small", "Why?", "nowhere"), report, quick)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nWhy?\n\n`caps`")
    assert text.index("How.") < text.index("## T") < text.index("- Agrees.")
    facts = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert facts["tables"]["t"]["rows"] == [{"a": "x", "b": "1"}]
    assert facts["passed"]


def test_tables_are_put_between_the_marks_that_bear_their_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = [f"<!-- {name}: begin -->\nold\n<!-- {name}: end -->\n" for name in ("t", "other")]
    page.write_text(f"Before.\n{marks[0]}Between.\n{marks[1]}After.\n", encoding="utf-8")
    tables = [
        Table("t", "First", ["a"], [["x"]], ["A note."]),
        Table("t: more", "Second", ["b"], [["y"]]),
        Table("nowhere", "Third", ["c"], [["z"]]),
    ]
    for _ in range(2):
        write_sections(page, tables)
        assert page.read_text(encoding="utf-8") == (
            "Before.\n<!-- t: begin -->\n\nFirst:\n\n| a |\n|---|\n| x |\n\nA note.\n\n"
            "Second:\n\n| b |\n|---|\n| y |\n\n<!-- t: end -->\nBetween.\n"
            f"{marks[1]}After.\n"
        )


def test_a_study_that_misses_what_is_wanted_ends_with_code_1(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    table = Table("t", "T", ["a"], [["x"]])
    report = Report("Title", [], [table], wanted="more than that", passed=False)
    monkeypatch.setattr(Study, "__call__", lambda self, run: report)
    monkeypatch.setitem(STUDIES, "missing", Study("missing", "Why?", "nowhere"))
    arguments = ["bench", "study", "missing", "--out", str(tmp_path), "--weights", str(weights)]
    assert called([*arguments, "--json"]) == 1
    page = tmp_path / "results" / "missing.md"
    facts = {"study": "missing", "page": str(page), "verdict": [], "passed": False}
    assert json.loads(capsys.readouterr().out) == facts
    assert page.read_text(encoding="utf-8").endswith("## Wanted\n\n**Missed**: more than that.\n")
    assert called([*arguments, "--page", str(tmp_path / "nowhere.md")]) == 2


def test_the_list_names_every_study_with_its_question(capsys) -> None:
    assert called(["bench", "study", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STUDIES)
    assert all("?" in line for line in lines)
    assert called(["bench", "study", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(STUDIES)


def test_the_command_prints_the_page_and_names_what_it_does_not_know(
    data, write_series, tmp_path: Path, weights: Path, capsys
) -> None:
    write_series()
    arguments = ["bench", "study", "natural-contamination", "--quick", "--data", str(data)]
    arguments += ["--out", str(tmp_path / "out"), "--weights", str(weights)]
    assert called(arguments) == 0
    assert "# Contamination of references" in capsys.readouterr().out
    assert called([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["study"] == "natural-contamination"
    assert Path(facts["page"]).is_file()
    assert called(["bench", "study", "nonsense", "--out", str(tmp_path)]) == 2
    assert "choose from ablations" in capsys.readouterr().err


def called(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return stopped.value.code
