"""The tables of docs/benchmarks.md, rebuilt from cells and published figures."""

from pathlib import Path

import pytest

from caps.bench.cells import Cell, done_record, write_cell
from caps.bench.selection import set_names
from caps.bench.studies.study import Report, StudyRun, write_sections
from caps.errors import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


def named(dataset: str, count: int) -> list[str]:
    return [name for name in set_names("tsb-ad-u-eva") if f"_{dataset}_" in name][:count]


def report(tmp_path: Path, figures: dict[str, tuple[float, str, str]], method: str) -> Report:
    """Of ours, SHADE's and MMPAD's VUS-PR of each series."""
    from tools.published.evaluation import evaluation  # found by the fixture above

    lines = ["file,SHADE,MMPAD"]
    for name, (ours, shade, mmpad) in figures.items():
        dataset = name.split("_")[1]
        cell = Cell(dataset, name, method, "abc", 0)
        part = {
            "vus_pr": ours,
            "vus_pr_2026": ours - 0.1,
            **({"top_1": ours > 0.5} if dataset == "UCR" else {}),
        }
        facts = {"channels": 1, "rows": 300, "test": part, "whole": part, "seconds": {}}
        write_cell(tmp_path / "out", cell, done_record(cell, facts))
        lines.append(f"{name},{shade},{mmpad}")
    tmp_path.mkdir(exist_ok=True)
    published = tmp_path / "published.csv"
    published.write_text("\n".join(lines) + "\n")
    return evaluation(StudyRun(out=tmp_path / "out", published=published))


def rows_of(report: Report, name: str) -> dict[str, list[str]]:
    (table,) = [each for each in report.tables if each.name == name]
    shown = [
        [entry if isinstance(entry, str) else entry.text for entry in row] for row in table.rows
    ]
    return {row[0]: row[1:] for row in shown}


def test_the_lead_is_over_the_series_that_both_have(tmp_path: Path) -> None:
    first, second = named("NAB", 2)
    (third,) = named("UCR", 1)
    figures = {first: (0.9, "0.5", "0.1"), second: (0.7, "0.5", "0.3"), third: (0.6, "0.4", "")}
    found = report(tmp_path, figures, "caps-memory")
    rows = rows_of(found, "evaluation univariate")
    twice = ["`caps-memory`", "`caps-memory`, window of 2026"]
    assert list(rows) == [*twice, "published: SHADE", "published: MMPAD"]
    assert rows[twice[1]][0].startswith("63.3 [")
    assert rows["`caps-memory`"][0].startswith("73.3 [")
    assert rows["`caps-memory`"][1] == "70.0"  # over datasets
    assert rows["published: SHADE"][2].startswith("26.7 [20.0, ")
    leads = ["60.0 [40.0, 80.0]", "50.0 [30.0, 70.0]"]
    assert rows["published: MMPAD"][2:] == [*leads, "2"]
    assert rows_of(found, "evaluation datasets univariate")["NAB"] == [
        *("2", "80.0", "50.0 (SHADE)", "20.0 (MMPAD)")
    ]


def test_the_page_has_a_place_for_every_table(tmp_path: Path) -> None:
    (name,) = named("UCR", 1)
    found = report(tmp_path, {name: (0.6, "0.4", "0.5")}, "caps-memory")
    page = tmp_path / "benchmarks.md"
    page.write_text((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    write_sections(page, found.tables)
    text = page.read_text(encoding="utf-8")
    for table in found.tables:
        place = text.partition(f"<!-- {table.name}: begin -->")[2]
        assert place.partition(f"<!-- {table.name}: end -->")[0].count("|") > 4, table.name


def test_a_run_without_caps_is_refused(tmp_path: Path) -> None:
    (name,) = named("NAB", 1)
    with pytest.raises(InputError, match="no cells of CAPS"):
        report(tmp_path, {name: (0.6, "0.4", "0.5")}, "lof")
