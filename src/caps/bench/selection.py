"""Which series a run takes: a fixed set, a list of names, datasets, at most so many of each."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from caps.bench.datasets import SeriesFile, shape_of
from caps.errors import InputError, check_known

# TSB-AD's own lists, and those of ours that must be there whole: chosen by dataset and size, never
# by scores. `dev` is used up: too many choices have seen it.
FieldList = Literal["tsb-ad-u-eva", "tsb-ad-m-eva", "tsb-ad-u-tuning", "tsb-ad-m-tuning"]
OwnList = Literal["dev-mini", "dev", "tune-short"]
ListName = Literal[FieldList, "eva", OwnList]  # known by names alone
SetName = Literal[ListName, "tune", "full"]
LISTS: tuple[str, ...] = get_args(ListName)
EVALUATION: tuple[FieldList, ...] = ("tsb-ad-u-eva", "tsb-ad-m-eva")
MOST_TUNED, LONGEST_TUNED = 16, 40_000  # series of each dataset, rows of each
COUNTED_AS = {"KPI": "IOPS"}  # series of the same challenge under another name


def series_of(name: str, found: Sequence[SeriesFile]) -> list[SeriesFile]:
    """The series of a set among those found.

    `dev-mini`, `dev` and `tune-short` must be there whole. Of TSB-AD's lists it is what is there,
    and `eva` is that of both evaluation lists; `missing_of` names the rest. `tune` is what
    `tuning_series` takes of the series on no evaluation list, `full` all.
    """
    check_known("set", name, get_args(SetName))
    if name == "full":
        return list(found)
    if name in get_args(OwnList):
        return [_counted(file) for file in select(found, names=set_names(name))]
    listed = set(set_names("eva" if name == "tune" else name))
    if name == "tune":
        chosen = tuning_series([file for file in found if file.name not in listed])
    else:
        chosen = [file for file in found if file.name in listed]
    if not chosen:
        raise InputError(f"no series of the set {name!r} in the data", "give TSB-AD's zips")
    return chosen


def missing_of(
    name: str, there: Collection[str], datasets: Collection[str] | None = None
) -> list[str]:
    """The series that a list names, of these datasets, and that are not there.

    None of a set that is a rule.
    """
    if name not in LISTS:
        return []
    missing = [SeriesFile.named(each, "") for each in set_names(name) if each not in there]
    of_all = datasets is None
    return [each.name for each in missing if each and (of_all or each.dataset in (datasets or ()))]


def tuning_series(found: Sequence[SeriesFile]) -> list[SeriesFile]:
    """At most 16 of each dataset, evenly over the sorted names: of one channel, to 40,000 rows."""
    datasets: dict[str, list[SeriesFile]] = {}
    for file in sorted(found, key=lambda each: each.name):
        rows, channels = shape_of(file)
        if channels == 1 and rows <= LONGEST_TUNED:
            file = _counted(file)
            datasets.setdefault(file.dataset, []).append(file)
    return [
        group[index]
        for _, group in sorted(datasets.items())
        for index in np.linspace(0, len(group) - 1, min(len(group), MOST_TUNED)).round().astype(int)
    ]


def _counted(file: SeriesFile) -> SeriesFile:
    return replace(file, dataset=COUNTED_AS.get(file.dataset, file.dataset))


def set_names(name: str) -> list[str]:
    """The file names of a list that is shipped.

    >>> [len(set_names(name)) for name in ("dev-mini", "eva", "tsb-ad-u-eva", "tsb-ad-m-tuning")]
    [11, 530, 350, 20]
    """
    if name == "eva":
        return [each for part in EVALUATION for each in set_names(part)]
    text = (files("caps.bench") / "sets" / f"{name}.txt").read_text(encoding="utf-8")
    return _names(text)


def listed_names(path: Path) -> list[str]:
    """The file names in a list, one a line; a heading such as TSB-AD's `file_name` is passed over.

    Lines that start with # are comments.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist", "name a text file with one series a line")
    names = _names(path.read_text(encoding="utf-8"))
    if not names:
        raise InputError(f"{path} names no series", "write one file name a line")
    return names


def select(
    found: Sequence[SeriesFile],
    *,
    names: Sequence[str] | None = None,
    datasets: Collection[str] | None = None,
    limit: int | None = None,
) -> list[SeriesFile]:
    """Series with these names, of these datasets, at most `limit` of each dataset.

    Every name must be there: a run on half a set would be taken for the set.
    """
    chosen = list(found)
    if names is not None:
        there = {file.name: file for file in found}
        missing = [name for name in names if name not in there]
        if missing:
            raise InputError(
                f"{len(missing)} of {len(names)} series are not in the data, first {missing[0]}",
                "give the zips that hold them with --data, or another --set or --files",
            )
        chosen = [there[name] for name in dict.fromkeys(names)]
    if datasets is not None:
        odd = set(datasets) - {file.dataset for file in chosen}
        if odd:
            there_are = ", ".join(sorted({file.dataset for file in chosen}))
            raise InputError(
                f"no series of {', '.join(sorted(odd))}", f"there are {there_are} to choose from"
            )
        chosen = [file for file in chosen if file.dataset in datasets]
    if limit is not None:
        if limit < 1:
            raise InputError(f"--limit {limit}", "give 1 or more series of each dataset")
        taken: Counter[str] = Counter()
        for file in list(chosen):
            taken[file.dataset] += 1
            if taken[file.dataset] > limit:
                chosen.remove(file)
    return chosen


def _names(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines()]
    names = [line for line in lines if line and not line.startswith("#") and line != "file_name"]
    return [name if name.endswith(".csv") else f"{name}.csv" for name in names]
