"""The light methods against TSB-AD's published VUS-PR of whole series, series by series."""

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.published.figures import AGREEMENT, Rerun, agreement, published_series, run_again

NAMES = (
    "lof-tsb",
    "sub-pca-tsb",
    "iforest-tsb",
    "sub-lof-tsb",
    "sub-knn-tsb",
    "matrix-profile-tsb",
    "kmeansad-tsb",
    "kmeansad-tab",
    "mmpad-tsb",
)
LONGEST, QUICK_LONGEST = 10_000, 2_000  # rows


def light_methods(run: StudyRun) -> Report:
    """Means of both, and how many series agree."""
    longest = QUICK_LONGEST if run.quick else LONGEST
    facts = published_series(run)
    short = facts[facts["length"] <= longest].groupby("verified").groups
    sure = short.get("yes-exact", short.get("yes-facts", ()))
    files = [file for file in run.files if file.name in sure]
    table, failed = run_again(run, files, dict.fromkeys(NAMES, Rerun()))
    rows: list[list[Entry]] = [
        [name, str(column), str(len(each)), *agreement(each)]
        for (name, column), each in table.groupby(["method", "theirs_name"], sort=False)
    ]
    header = ["method", "TSB-AD's name", "series", *AGREEMENT]
    return Report(
        "Light methods against TSB-AD",
        [
            f"VUS-PR of whole series, as TSB-AD scores them, of at most {longest:,} rows, on the "
            "manifest's surest: `yes-exact`, or `yes-facts` where there are none of those.",
            *failed,
        ],
        [Table("light methods", "Published and ours", header, rows)],
    )
