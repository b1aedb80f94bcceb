"""The figures that the UCR archive and NAB have of their own, of a bench run on their series."""

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.bench.tables import build_tables
from caps.errors import InputError

TOTALS = ("Events", "Found", "False events", "Budget", "NAB, at the budget", "NAB, one threshold")
DELAYS = ("Delay, rows", "Delay, % of event")


def archives(run: StudyRun) -> Report:
    """UCR's top-1 accuracy; NAB's score with events and delay, if the run has alarms."""
    found = {table.name: table for table in build_tables(run.out)[0]}
    tables = [*_first_places(found), *_alarms(found)]
    if not tables:
        raise InputError(
            f"{run.out} holds neither series of UCR nor alarms",
            "run caps bench run --datasets UCR, or --datasets NAB --operator, into it",
        )
    return Report("UCR and NAB", ["By the archives' own rules, test parts."], tables)


def _first_places(found: dict[str, Table]) -> list[Table]:
    table = found.get("ucr_top_1_univariate")
    return [] if table is None else [Table("ucr", table.title, table.header, table.rows)]


def _alarms(found: dict[str, Table]) -> list[Table]:
    rows: list[list[Entry]] = []
    for mode in ("hindsight", "live"):
        totals = found.get(f"operator_totals_univariate_{mode}")
        if totals is None:
            continue
        means = _by_method(found[f"operator_series_univariate_{mode}"])
        for method, values in _by_method(totals).items():
            figures = [values[name] for name in TOTALS]
            rows.append(
                [f"`{method}`, {mode}", *figures, *(means[method][name] for name in DELAYS)]
            )
    return [Table("nab", "NAB", ["method", *TOTALS, *DELAYS], rows)] if rows else []


def _by_method(table: Table) -> dict[str, dict[str, Entry]]:
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    return {str(row["Method"]): row for row in rows}
