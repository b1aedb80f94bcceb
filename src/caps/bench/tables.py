"""The tables of a run, rebuilt from its cells alone."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from caps.artifacts import replacing, write_text
from caps.bench.cells import read_cells
from caps.bench.field_tables import VUS_WINDOW, field_tables, top_1_tables
from caps.bench.methods import METHODS, make_method
from caps.bench.operator_tables import operator_tables
from caps.bench.published import (
    NEWER_WINDOW,
    PAPER_SAYS,
    Kind,
    paper_deviations,
    paper_figures,
    paper_name,
    read_series_figures,
    series_figures,
)
from caps.bench.rendering import (
    Entry,
    Mark,
    Table,
    csv_text,
    figure,
    frame_table,
    html_page,
    latex,
    markdown,
)
from caps.bench.selection import missing_of, set_names
from caps.bench.settings import config_hash
from caps.bench.summary import (
    FLOORS,
    METRICS,
    UNRANKED,
    Part,
    Summary,
    cell_frame,
    kinds_in,
    of_metric,
    on_common_series,
    overall,
    summarize,
)
from caps.errors import InputError

PARTS: dict[Part, str] = {"test": "test part", "whole": "whole series"}
ORACLE = ("affiliation_f", "f1_t", "standard_f1")
CLOSE = 1.0  # percent: a published VUS-PR counts as reproduced within this
MOST_LISTED = 20  # failed cells on the page; all are in cells.csv


def build_tables(
    out: Path,
    *,
    set_name: str | None = None,
    published: Sequence[Path] = (),
    common: bool = False,
    apart: Collection[str] = (),
) -> tuple[list[Table], pd.DataFrame]:
    """Every table of a run, and its cells as a frame.

    Of a set that is a list of names only its series count. Datasets that stand `apart` have tables
    of alarms of their own.
    """
    records = list(read_cells(out))
    if set_name is not None:
        listed = set(set_names(set_name))
        records = [record for record in records if record["series"] in listed]
    methods = {record["method"] for record in records} & set(METHODS)
    current = {name: config_hash(name, make_method) for name in methods}  # what runs now
    frame = cell_frame(records, current)
    if frame.empty:
        of_set = f" of the set {set_name!r}" if set_name else ""
        remedy = "name the folder that caps bench run wrote to"
        raise InputError(f"{out} holds no results{of_set}", remedy)
    figures = [read_series_figures(path) for path in published]
    # Files of the same methods on other series, or of other methods on the same ones.
    beside = pd.concat(figures).groupby(level="file").first() if figures else None
    tables = []
    for kind, cells in kinds_in(frame).items():
        compared = on_common_series(cells) if common else cells
        for part in PARTS:
            summary = summarize(compared, part)
            told = [*_of_set(set_name, frame), *_outdated(compared, current)]
            notes = [*_protocol(compared, part, common), *told]
            scored = _scored(compared, part, common)
            tables += field_tables(compared, kind, part, [*scored, *told], beside)
            tables.append(_overall(summary, compared, kind, part, notes))
            shown = METRICS if part == "test" else ("vus_pr",)
            tables += [_by_dataset(summary, compared, kind, part, each, notes) for each in shown]
        tables += top_1_tables(compared, kind)
        tables += operator_tables(compared, records, kind, apart)
        tables.append(_cost(cells, kind))
    if beside is not None:
        tables += _against_published(frame, beside)
    if not (frame["status"] == "done").all():
        tables.append(_failures(frame))
    return tables, frame


def write_tables(out: Path, tables: Sequence[Table], frame: pd.DataFrame) -> Path:
    """Write all tables below `out`; returns the folder."""
    folder = out / "tables"
    title = "Benchmark results"
    write_text(folder / "results.md", markdown(tables, title))
    write_text(folder / "results.html", html_page(tables, title))
    write_text(folder / "results.tex", latex(tables))
    for table in tables:
        write_text(folder / f"{table.name}.csv", csv_text(table))
    with replacing(folder / "cells.csv") as temporary:
        frame.to_csv(temporary, index=False)
    return folder


def _scored(frame: pd.DataFrame, part: Part, common: bool) -> list[str]:
    """Which rows and series the figures are of."""
    done = frame[frame["status"] == "done"]
    undefined = done.loc[done[f"{part}_undefined"].notna(), "series"].nunique()
    filled = done.loc[done["filled_values"] > 0, "series"].nunique()
    floors = [name for name in FLOORS if name in set(done["method"])]
    lines = {
        {
            "test": "Scored: the test part, the rows after the training part, as in the paper.",
            "whole": "Scored: the whole series with its training part, as TSB-AD publishes.",
        }[part]: True,
        f"Not ranked: floors ({', '.join(floors)}) that know nothing, and Diagnosis, which is told "
        "anomalies of the test part.": floors,
        "Floors are missing: run the methods random, constant and ones to see what scores "
        "without knowledge get.": not floors,
        f"Only the {done['series'].nunique()} series that every method finished.": common,
        f"Left out, undefined: {undefined} series without an anomaly in this part, "
        "or too short.": undefined,
        f"Missing values of {filled} series were interpolated.": filled,
    }
    return [line for line, said in lines.items() if said]


def _protocol(frame: pd.DataFrame, part: Part, common: bool) -> list[str]:
    """What the paper's tables are of."""
    return [
        *_scored(frame, part, common),
        "In percent: mean over series, then over datasets. VUS-PR needs no threshold. "
        "Affiliation-F, F1_T and Standard-F1 are oracle values: the best of 1,500 score quantiles, "
        "chosen with the labels in hand.",
        f"{VUS_WINDOW}.",
    ]


def _of_set(set_name: str | None, frame: pd.DataFrame) -> list[str]:
    """A note on the series of a set that are not among the results."""
    if set_name is None:
        return []
    listed, missing = len(set_names(set_name)), len(missing_of(set_name, set(frame["series"])))
    return [f"Set {set_name}: {listed - missing} of its {listed} series, {missing} are missing."]


def _outdated(frame: pd.DataFrame, current: Mapping[str, str]) -> list[str]:
    """A note on the results that a run of today would not give."""
    name = frame["method"].str.partition("@")[0]
    old = frame[name.isin(list(current)) & (frame["config"] != name.map(dict(current)))]
    if old.empty:
        return []
    return [
        "Of an older configuration than this CAPS runs, or of another one: "
        f"{', '.join(sorted(old['method'].unique()))}. caps bench run computes them anew."
    ]


def _overall(
    summary: Summary, frame: pd.DataFrame, kind: Kind, part: Part, notes: list[str]
) -> Table:
    table = overall(summary).sort_values(["avg_rank", "vus_pr"], ascending=[True, False])
    columns: dict[str, str] = {}
    for metric in METRICS:
        columns |= {metric: _titled(metric), f"{metric}_rank": f"{METRICS[metric]} rank"}
    columns["avg_rank"] = "Avg.R"
    ranked = table.dropna(subset=["avg_rank"])
    coverage = _coverage(frame, part)
    rows: list[list[Entry]] = []
    for method, values in table.iterrows():
        row: list[Entry] = [str(method)]
        for name in columns:
            way = -1 if name.endswith("rank") else 1  # low ranks are best
            row.append(figure(values[name], mark=_mark(way * values[name], way * ranked[name])))
        row += [figure(values[name], digits=0) for name in ("t1", "t2")]
        rows.append([*row, coverage.get(str(method), "")])
    counts = (
        "Avg.R: mean rank over all datasets and metrics, ties averaged. T1, T2: how often first, "
        "and among the first two. Series: with a defined result, of those tried; methods that "
        "lack a dataset have no mean."
    )
    header = ["Method", *columns.values(), "T1", "T2", "Series"]
    title = f"Overall, {kind}, {PARTS[part]}"
    return Table(f"overall_{kind}_{part}", title, header, rows, [*notes, counts])


def _by_dataset(
    summary: Summary, frame: pd.DataFrame, kind: Kind, part: Part, metric: str, notes: list[str]
) -> Table:
    means, deviations = of_metric(summary.mean, metric), of_metric(summary.deviation, metric)
    ranked = [name for name in means.index if name.partition("@")[0] not in UNRANKED]
    failed = frame[frame["status"] != "done"]
    gaps = set(zip(failed["method"], failed["dataset"], strict=True))
    rows: list[list[Entry]] = []
    for method in means.index:
        row: list[Entry] = [str(method)]
        for dataset in summary.datasets:
            value = means.loc[method, dataset]
            mark = _mark(value, means.loc[ranked, dataset]) if method in ranked else ""
            entry = figure(value, deviation=deviations.loc[method, dataset], mark=mark)
            if (method, dataset) in gaps and entry.value is not None:
                entry = replace(entry, text=f"{entry.text} (!)")
            row.append(entry)
        rows.append([*row, figure(means.loc[method].mean(skipna=False))])
    paper = _paper_rows(summary, kind, metric) if part == "test" else []
    said = {
        "(!): some series of the dataset failed and are missing from the mean.": gaps,
        "±: standard deviation over seeds of the mean over series.": deviations.notna().any(
            axis=None
        ),
        f"{PAPER_SAYS[0].upper()}{PAPER_SAYS[1:]}, test part.": paper,
    }
    title = f"{_titled(metric)} by dataset, {kind}, {PARTS[part]}"
    header = ["Method", *summary.datasets, "Avg."]
    notes = [*notes, *(note for note, true in said.items() if true)]
    return Table(f"{metric}_{kind}_{part}", title, header, [*rows, *paper], notes)


def _titled(metric: str) -> str:
    return f"{METRICS[metric]} (oracle)" if metric in ORACLE else METRICS[metric]


def _paper_rows(summary: Summary, kind: Kind, metric: str) -> list[list[Entry]]:
    """The paper's figures of the methods that we have too, on the datasets that it has."""
    figures, deviations = (
        of_metric(table, metric).reindex(columns=summary.datasets)
        for table in (paper_figures(kind), paper_deviations())
    )
    if figures.isna().all(axis=None):
        return []
    average = figures.mean(axis=1, skipna=False)
    names = dict.fromkeys(paper_name(each, kind) for each in summary.methods)
    rows: list[list[Entry]] = []
    for name in (each for each in names if each is not None and each in figures.index):
        around = deviations.reindex([name]).loc[name]
        values = zip(figures.loc[name], around, strict=True)
        entries = [figure(value, deviation=deviation) for value, deviation in values]
        rows.append([f"paper: {name}", *entries, figure(average[name])])
    return rows


def _mark(value: float, among: "pd.Series[float]") -> Mark:
    """Best or second best of a column of numbers, as they are shown."""
    shown = among.dropna().round(2)
    better = int((shown > round(value, 2)).sum())
    if len(shown) < 2 or value != value or not (shown == round(value, 2)).any():
        return ""
    return "best" if better == 0 else "second" if better == 1 else ""


def _coverage(frame: pd.DataFrame, part: Part) -> dict[str, str]:
    defined = (frame["status"] == "done") & frame[f"{part}_undefined"].isna()
    tried = frame.groupby("method")["series"].nunique()
    complete = frame[defined].groupby("method")["series"].nunique()
    return {str(name): f"{complete.get(name, 0)}/{count}" for name, count in tried.items()}


def _cost(frame: pd.DataFrame, kind: Kind) -> Table:
    done = frame[frame["status"] == "done"].groupby("method")
    costs = pd.DataFrame(
        {
            "Cells": done.size(),
            "Fit s": done["fit_seconds"].mean(),
            "Score s": done["score_seconds"].mean(),
            "CPU s": done["cpu_seconds"].mean(),
            "Peak MB": done["peak_memory_mb"].max(),
        }
    )
    note = (
        "Mean seconds of one cell with one thread: fit and score by the clock, and processor time "
        "with reading and metrics. Peak memory of the process with its libraries."
    )
    digits = {"Cells": 0, "Peak MB": 0}
    return frame_table(f"cost_{kind}", f"Cost, {kind}", costs, "Method", digits, [note])


def _against_published(frame: pd.DataFrame, figures: pd.DataFrame) -> list[Table]:
    done = frame[(frame["status"] == "done") & frame["whole_vus_pr"].notna()]
    rows, gaps = {}, {}
    for method, own in done.groupby("method"):
        name = str(method).partition("@")[0]
        published = series_figures(name, figures)
        if published is None:
            continue
        metric = "whole_vus_pr_2026" if name in NEWER_WINDOW else "whole_vus_pr"
        seeds = (100 * own[metric].astype(float)).groupby([own["dataset"], own["series"]])
        ours = seeds.agg(["mean", "min", "max"])
        pairs = ours.join(100 * published.rename("theirs"), on="series", how="inner").dropna()
        if pairs.empty:
            continue
        gap = pairs["mean"] - pairs["theirs"]
        apart = (pairs["theirs"] - pairs["theirs"].clip(pairs["min"], pairs["max"])).abs()
        rows[f"{method} / {published.name}"] = {
            "Series": len(pairs),
            "Ours": pairs["mean"].mean(),
            "Published": pairs["theirs"].mean(),
            "Difference": gap.mean(),
            "Mean size of it": gap.abs().mean(),
            f"Within {CLOSE:g}, %": 100 * (apart <= CLOSE).mean(),
            "Farthest": apart.max(),
        }
        gaps[f"{method} / {published.name}"] = gap.groupby(level="dataset").mean()
    note = (
        "VUS-PR in percent of the whole series, against what TSB-AD published for the same file; "
        "means over the series that both have. Ours is the mean over seeds; within and farthest "
        f"are told from the range of our seeds. {VUS_WINDOW}; of "
        f"{' and '.join(sorted(NEWER_WINDOW))}, submitted later, by that of 2026."
    )
    name, title, first = "against_tsb_ad", "Against TSB-AD's published VUS-PR", "Ours / TSB-AD"
    digits = {"Series": 0, f"Within {CLOSE:g}, %": 1}
    table = pd.DataFrame.from_dict(rows, orient="index")
    by_dataset = pd.DataFrame.from_dict(gaps, orient="index").sort_index(axis=1)
    told = ["The mean difference of each dataset: ours less the published figures."]
    return [
        frame_table(name, title, table, first, digits, [note]),
        frame_table(f"{name}_datasets", f"{title}, by dataset", by_dataset, first, {}, told),
    ]


def _failures(frame: pd.DataFrame) -> Table:
    failed = frame[frame["status"] != "done"]
    shown = failed[["method", "series", "seed", "failure", "error"]].head(MOST_LISTED).astype(str)
    shown["error"] = shown["error"].str[:200]
    notes = [
        f"{len(failed)} of {len(frame)} cells failed; they count in no mean. Tracebacks are in the "
        "JSON files of the cells; caps bench run --retry-failed computes them again."
    ]
    header = ["Method", "Series", "Seed", "Kind", "Error"]
    return Table("failures", "Failed cells", header, shown.to_numpy().tolist(), notes)
