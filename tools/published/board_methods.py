"""The newer methods of the board against their published VUS-PR, series by series.

What starts at random is run with several seeds: a published figure within their range agrees, one
outside does not.
"""

import pandas as pd

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.published.figures import AGREEMENT, NEAR, Rerun, agreement, published_series, run_again

METHODS = {  # authors submitted figures with the rule of 2026
    "kmeansad-tab": Rerun(seeds=5, rule="2026"),
    "mmpad-tsb": Rerun(rule="2026"),
    "poly-tsb": Rerun(),
    "kshapead-tsb": Rerun(),
}
SERIES, QUICK_SERIES = 20, 2  # the shortest ones


def board_methods(run: StudyRun) -> Report:
    """A row for each method, and one for each of its figures that is apart."""
    facts = published_series(run)
    length = facts.loc[facts["verified"] == "yes-exact", "length"]
    there = [file for file in run.files if file.name in length.index]
    there.sort(key=lambda file: (int(length[file.name]), file.name))
    chosen = there[: QUICK_SERIES if run.quick else SERIES]
    table, failed = run_again(run, chosen, METHODS)
    longest = max((int(length[file.name]) for file in chosen), default=0)
    text = (
        "VUS-PR of whole series, with the window of TSB-AD 1.5 for its own runs and that of 2026 "
        f"for what was submitted since, on the {len(chosen)} shortest series that the manifest "
        f"calls `yes-exact` (at most {longest:,} rows). Apart: a published figure more than {NEAR} "
        "outside the range of our seeds."
    )
    tables = [_summary(table), _apart(table)]
    return Report("Methods of the board against published figures", [text, *failed], tables)


def _summary(table: pd.DataFrame) -> Table:
    rows: list[list[Entry]] = [
        [str(name), str(len(each)), str(METHODS[str(name)].seeds), *agreement(each)]
        for name, each in table.groupby("method", sort=False)
    ]
    header = ["method", "series", "seeds", *AGREEMENT]
    return Table("board", "Published and ours", header, rows)


def _apart(table: pd.DataFrame) -> Table:
    rows: list[list[Entry]] = [
        [each.method, each.series, f"{each.low:.4f} to {each.high:.4f}", f"{each.theirs:.4f}"]
        for each in table[table["apart"] > NEAR].itertuples()
    ]
    return Table("board: apart", "Apart", ["method", "series", "ours", "published"], rows)
