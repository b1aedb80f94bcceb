"""Tables: the paper's arithmetic, honest gaps, four formats, everything rebuilt from cells."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps.bench.cells import Cell, done_record, failed_record, write_cell
from caps.bench.methods import make_method
from caps.bench.published import paper_deviations, paper_figures, paper_name, read_series_figures
from caps.bench.settings import config_hash
from caps.bench.submission import COLUMNS, export_scores, write_leaderboard
from caps.bench.summary import FIELD_METRICS, METRICS, NEWER_METRICS, overall, summary_of
from caps.bench.tables import build_tables, write_tables
from caps.errors import InputError

# The paper's table of overall results: scores and ranks of the four metrics, Avg.R, T1, T2.
PAPER_OVERALL = {
    "CAPS": (85.33, 1.28, 46.53, 1.44, 42.91, 1.22, 46.82, 1.33, 1.32, 26, 35),
    "TCN-Injection": (80.30, 3.89, 36.66, 4.00, 32.36, 4.00, 33.87, 3.11, 3.75, 5, 16),
    "TCN-AE": (78.19, 6.00, 30.63, 5.22, 25.10, 5.78, 23.96, 5.89, 5.72, 0, 1),
    "LOF": (72.26, 8.94, 28.19, 7.44, 23.11, 8.33, 23.19, 8.06, 8.19, 0, 2),
    "USAD": (67.84, 8.89, 26.64, 5.28, 25.23, 4.44, 25.92, 6.22, 6.21, 3, 5),
}
SERIES = "{:03d}_{}_id_{}_Web_tr_100_1st_200.csv"


def result(vus: float | None, **facts: object) -> dict[str, object]:
    part = (
        {"undefined": "no anomaly in this part"}
        if vus is None
        else {name: vus for name in (*METRICS, *FIELD_METRICS, *NEWER_METRICS)}
    )
    return {
        "rows": 300,
        "train_rows": 100,
        "channels": 1,
        "filled_values": 0,
        "seconds": {"load": 0.0, "fit": 1.0, "score": 0.5, "evaluate": 0.0},
        "cpu_seconds": 1.5,
        "peak_memory_mb": 200.0,
        "test": part,
        "whole": part,
        **facts,
    }


def write_done(
    out: Path, method: str, dataset: str, number: int, vus: float | None, **more: object
) -> Cell:
    seed, config = int(str(more.pop("seed", 0))), str(more.pop("config", "abc"))
    cell = Cell(dataset, SERIES.format(number, dataset, number), method, config, seed)
    write_cell(out, cell, done_record(cell, result(vus, **more)))
    return cell


def table_of(out: Path, name: str, **options: object) -> dict[str, dict[str, str]]:
    """One table as its CSV file holds it, by the first column."""
    tables, frame = build_tables(out, **options)  # type: ignore[arg-type]
    folder = write_tables(out, tables, frame)
    with (folder / f"{name}.csv").open() as stream:
        return {next(iter(row.values())): row for row in csv.DictReader(stream)}


@pytest.mark.parametrize("method", PAPER_OVERALL)
def test_the_papers_overall_table_follows_from_its_detailed_table(method: str) -> None:
    figures = paper_figures("univariate")
    figures = figures.drop("CAPS(Diagnosis)", level="method")
    row = overall(summary_of(figures)).loc[method]
    columns = [name for metric in METRICS for name in (metric, f"{metric}_rank")]
    found = row[[*columns, "avg_rank", "t1", "t2"]].to_numpy(float)
    np.testing.assert_allclose(found, PAPER_OVERALL[method], atol=0.0101)


def test_the_papers_numbers_are_complete() -> None:
    assert paper_figures("univariate").shape == (4 * 14, 9)
    assert paper_figures("multivariate").shape == (4 * 10, 4)
    assert paper_deviations().shape == (4 * 5, 9)
    for table in (paper_figures("univariate"), paper_figures("multivariate"), paper_deviations()):
        assert table.notna().to_numpy().all()
        assert table.index.is_unique
    for kind in ("univariate", "multivariate"):
        names = paper_figures(kind).index.unique("method")  # type: ignore[arg-type]
        assert paper_name("caps", kind) in names  # type: ignore[arg-type]


def test_means_go_over_series_then_seeds_then_datasets(tmp_path: Path) -> None:
    for seed, values in ((0, (0.2, 0.4)), (1, (0.4, 0.6))):
        for number, vus in enumerate(values):
            write_done(tmp_path, "lof", "NAB", number, vus, seed=seed)
        write_done(tmp_path, "lof", "UCR", 9, 0.8, seed=seed)
    tables, _ = build_tables(tmp_path)
    (table,) = [each for each in tables if each.name == "vus_pr_univariate_test"]
    entries = {row[0]: [getattr(entry, "text", entry) for entry in row] for row in table.rows}
    assert entries["lof"] == ["lof", "40.00 ± 14.14", "80.00 ± 0.00", "60.00"]
    assert entries["paper: LOF"] == ["paper: LOF", "21.18", "2.39", "11.79"]
    assert any("own data selection" in note for note in table.notes)


def test_failed_and_undefined_cells_are_gaps_and_never_zeros(tmp_path: Path) -> None:
    for method in ("lof", "caps"):
        write_done(tmp_path, method, "NAB", 1, 0.5)
        write_done(tmp_path, method, "NEK", 2, None)
    write_done(tmp_path, "lof", "NAB", 3, 0.1)
    lost = Cell("NAB", SERIES.format(3, "NAB", 3), "caps", "abc", 0)
    write_cell(tmp_path, lost, failed_record(lost, "crash", "it fell over", "Traceback ..."))

    by_dataset = table_of(tmp_path, "vus_pr_univariate_test")
    assert by_dataset["caps"]["NAB"] == "50.0"
    assert float(by_dataset["lof"]["NAB"]) == pytest.approx(30)
    assert by_dataset["caps"]["NEK"] == by_dataset["caps"]["Avg."] == ""
    page = (tmp_path / "tables" / "results.md").read_text()
    assert "50.00 (!)" in page
    assert "| caps | 003_NAB_id_3_Web_tr_100_1st_200.csv | 0 | crash | it fell over |" in page
    assert "1 of 6 cells failed" in page
    assert table_of(tmp_path, "overall_univariate_test")["caps"]["Series"] == "1/3"

    common = table_of(tmp_path, "vus_pr_univariate_test", common=True)
    assert common["lof"]["NAB"] == common["caps"]["NAB"] == "50.0"


def test_the_mean_over_series_stands_beside_that_over_datasets(tmp_path: Path) -> None:
    for method, values in {"lof": (0.2, 0.4, 0.9), "caps": (0.6, 0.6, 0.3)}.items():
        for number, vus in enumerate(values):
            for seed, shift in ((0, -0.1), (1, 0.1)):
                dataset = "NAB" if number < 2 else "UCR"
                write_done(tmp_path, method, dataset, number, vus + shift, seed=seed)
    write_done(tmp_path, "random", "NAB", 0, 0.9)
    for part in ("test", "whole"):
        rows = table_of(tmp_path, f"tsb_ad_univariate_{part}")
        assert float(rows["lof"]["VUS-PR, series"]) == pytest.approx(50)
        assert float(rows["lof"]["VUS-PR, datasets"]) == pytest.approx(60)
        assert float(rows["lof"]["VUS-PR, window of 2026, series"]) == pytest.approx(50)
        more = table_of(tmp_path, f"tsb_ad_more_univariate_{part}")
        assert float(more["caps"]["AUC-ROC, datasets"]) == pytest.approx(45)
        assert float(more["caps"]["Affiliation-F, series"]) == pytest.approx(50)
        # By series caps is first twice and lof once; random knows nothing and lacks series.
        assert float(rows["caps"]["Rank"]) == pytest.approx(4 / 3)
        assert float(rows["lof"]["Rank"]) == pytest.approx(5 / 3)
        assert rows["random"]["Rank"] == rows["random"]["VUS-PR, datasets"] == ""
        assert (rows["random"]["Series"], rows["caps"]["Series"]) == ("1/3", "3/3")
    shown = (tmp_path / "tables" / "results.md").read_text()
    assert "50.00 [20.00, 90.00]" in shown  # three series: no interval is narrower
    assert "60.00 [55.00, 65.00]" in shown
    ends = [float(rows["lof"][f"VUS-PR, datasets, {end}"]) for end in ("low", "high")]
    assert ends == pytest.approx([55, 65])
    assert rows["random"]["VUS-PR, datasets, low"] == ""


def test_cells_without_tsb_ads_own_figures_have_the_others(tmp_path: Path) -> None:
    part = {name: 0.5 for name in (*METRICS, "auc_pr", "auc_roc", "vus_roc")}
    write_done(tmp_path, "lof", "NAB", 1, 0.5, test=part, whole=part)
    row = table_of(tmp_path, "tsb_ad_univariate_whole")["lof"]
    assert (row["VUS-PR, series"], row["VUS-PR, window of 2026, series"]) == ("50.0", "")
    row = table_of(tmp_path, "tsb_ad_more_univariate_whole")["lof"]
    assert (row["AUC-PR, series"], row["Standard-F1, series"]) == ("50.0", "")


def test_published_methods_stand_beside_ours_on_the_same_series(tmp_path: Path) -> None:
    names = [
        write_done(tmp_path, "lof", dataset, number, 0.5).series
        for number, dataset in ((1, "NAB"), (2, "UCR"))
    ]
    published = tmp_path / "published.csv"
    elsewhere = SERIES.format(9, "NAB", 9)
    published.write_text(
        f"file,SHADE,MMPAD,ts_len\n{names[0]},0.2,0.9,300\n{names[1]},0.4,,300\n"
        f"{elsewhere},1.0,1.0,300\n"
    )
    rows = table_of(tmp_path, "tsb_ad_univariate_whole", published=[published])
    assert list(rows) == ["lof", "published: MMPAD", "published: SHADE"]
    assert float(rows["published: SHADE"]["VUS-PR, series"]) == pytest.approx(30)
    assert float(rows["published: MMPAD"]["VUS-PR, series"]) == pytest.approx(90)
    assert rows["published: MMPAD"]["VUS-PR, datasets"] == ""
    assert rows["published: MMPAD"]["Series"] == "1/2"
    assert rows["published: SHADE"]["Rank"] == ""
    assert rows["published: SHADE"]["VUS-PR, window of 2026, series"] == ""
    assert list(table_of(tmp_path, "tsb_ad_univariate_test", published=[published])) == ["lof"]


def test_leaderboard_files_read_back_as_published_figures(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number, vus in ((1, 0.25), (2, 0.75), (3, None)):
        write_done(out, "kmeansad-tab", "NAB", number, vus)
    for seed in (0, 1):
        write_done(out, "caps", "MSL", 4, 0.1 + 0.2 * seed, channels=5, seed=seed)
    lost = Cell("NAB", SERIES.format(5, "NAB", 5), "kmeansad-tab", "abc", 0)
    write_cell(out, lost, failed_record(lost, "crash", "it fell over", "Traceback ..."))
    _, frame = build_tables(out)
    files = write_leaderboard(tmp_path / "board", frame)
    names = sorted(str(path.relative_to(tmp_path / "board")) for path in files)
    assert names == ["multi/caps.csv", "uni/kmeansad-tab.csv"]
    table = pd.read_csv(tmp_path / "board" / "uni" / "kmeansad-tab.csv")
    assert list(table.columns) == list(COLUMNS)
    assert set(FIELD_METRICS.values()) < set(COLUMNS)
    assert table["PA-F1"].isna().all()
    assert table["VUS-PR"].fillna(-1).tolist() == [0.25, 0.75, -1]
    assert (table["Time"] == 1.5).all()
    many = read_series_figures(tmp_path / "board" / "multi" / "caps.csv")
    assert many["caps"].tolist() == pytest.approx([0.2])
    rows = table_of(out, "against_tsb_ad", published=files)
    assert list(rows) == ["kmeansad-tab / kmeansad-tab"]
    assert float(rows["kmeansad-tab / kmeansad-tab"]["Within 1, %"]) == 100


def test_floors_and_diagnosis_have_rows_but_no_ranks(tmp_path: Path) -> None:
    for index, method in enumerate(["random", "caps-diagnosis", "caps", "lof"]):
        write_done(tmp_path, method, "NAB", 1, 0.9 - 0.2 * index)
    rows = table_of(tmp_path, "overall_univariate_test")
    assert [rows[name]["Avg.R"] for name in ("caps", "lof")] == ["1.0", "2.0"]
    assert rows["random"]["Avg.R"] == rows["caps-diagnosis"]["Avg.R"] == ""
    assert float(rows["random"]["VUS-PR"]) == pytest.approx(90)


def test_every_table_states_its_protocol(tmp_path: Path) -> None:
    write_done(tmp_path, "lof", "NAB", 1, 0.5)
    write_done(tmp_path, "lof", "MSL", 2, 0.5, channels=55)
    tables, _ = build_tables(tmp_path)
    names = {table.name for table in tables}
    assert {"overall_univariate_test", "overall_multivariate_whole"} <= names
    for table in tables:
        if table.name.startswith("cost"):
            continue
        text = " ".join(table.notes)
        scored = "test part" if table.name.endswith("test") else "whole series"
        assert f"Scored: the {scored}" in text
        assert "by the rule of TSB-AD 1.5" in text
        needs_no_threshold = table.name.startswith(("tsb_ad_univariate", "tsb_ad_multivariate"))
        assert ("labels in hand" in text) != needs_no_threshold
        assert "Floors are missing" in text


def test_two_settings_of_a_method_are_two_rows(tmp_path: Path) -> None:
    write_done(tmp_path, "lof", "NAB", 1, 0.5, config="aaa")
    write_done(tmp_path, "lof", "NAB", 1, 0.7, config="bbb")
    assert {"lof@aaa", "lof@bbb"} <= set(table_of(tmp_path, "vus_pr_univariate_test"))


def test_four_formats_say_the_same_and_escape_what_they_must(tmp_path: Path) -> None:
    write_done(tmp_path, "lof", "NAB", 1, 0.5)
    write_done(tmp_path, "a_b<c>&d", "NAB", 1, 0.25)
    tables, frame = build_tables(tmp_path)
    folder = write_tables(tmp_path, tables, frame)
    texts = {path.suffix: path.read_text() for path in folder.glob("results.*")}
    assert set(texts) == {".md", ".html", ".tex"}
    assert all("50.00" in text and "25.00" in text for text in texts.values())
    assert r"a\_b$<$c$>$\&d" in texts[".tex"]
    assert r"\textbf{50.00}" in texts[".tex"]
    assert "a_b&lt;c&gt;&amp;d" in texts[".html"]
    assert "**50.00**" in texts[".md"]
    assert len(pd.read_csv(folder / "cells.csv")) == 2


def test_tsb_ads_published_figures_stand_beside_the_same_methods(tmp_path: Path) -> None:
    names = [
        write_done(tmp_path, "lof-tsb", "NAB", number, vus).series
        for number, vus in ((1, 0.505), (2, 0.7))
    ]
    write_done(tmp_path, "lof", "NAB", 1, 0.1)
    published = tmp_path / "published.csv"
    published.write_text(f"file,LOF,IForest\n{names[0]},0.5,0.1\n{names[1]},0.6,0.1\n")
    rows = table_of(tmp_path, "against_tsb_ad", published=[published])
    assert list(rows) == ["lof-tsb / LOF"]
    row = rows["lof-tsb / LOF"]
    assert float(row["Within 1, %"]) == 50
    assert float(row["Difference"]) == pytest.approx(5.25)
    assert float(row["Farthest"]) == pytest.approx(10)
    rows = table_of(tmp_path, "against_tsb_ad_datasets", published=[published])
    assert float(rows["lof-tsb / LOF"]["NAB"]) == pytest.approx(5.25)
    write_done(tmp_path, "lof-tsb", "NAB", 2, 0.5, seed=1)
    rows = table_of(tmp_path, "against_tsb_ad", published=[published])
    assert float(rows["lof-tsb / LOF"]["Farthest"]) == pytest.approx(0.5), "within two seeds"
    assert float(rows["lof-tsb / LOF"]["Within 1, %"]) == 100
    with pytest.raises(InputError, match="column 'file'"):
        table_of(tmp_path, "", published=[tmp_path / "tables" / "cells.csv"])


def test_ucr_has_a_table_of_first_places(tmp_path: Path) -> None:
    write_done(tmp_path, "lof", "NAB", 9, 0.5)
    assert "ucr_top_1_univariate" not in {table.name for table in build_tables(tmp_path)[0]}
    for method, hits in {"lof": (True, False), "caps": (True, True), "ones": (True, True)}.items():
        for number, hit in enumerate(hits):
            part = {**result(0.5)["test"], "top_1": hit}  # type: ignore[dict-item]
            write_done(tmp_path, method, "UCR", number, 0.5, test=part)
    rows = table_of(tmp_path, "ucr_top_1_univariate")
    assert list(rows) == ["caps", "lof"]  # equal scores have no highest one
    assert [float(row["Top-1 accuracy, %"]) for row in rows.values()] == [100, 50]
    assert [row["Top-1 accuracy, %, low"] for row in rows.values()] == ["100.0", "0.0"]


def test_a_run_in_which_everything_failed_has_its_failures(tmp_path: Path) -> None:
    lost = Cell("NAB", SERIES.format(3, "NAB", 3), "caps", "abc", 0)
    write_cell(tmp_path, lost, failed_record(lost, "crash", "it fell over", "Traceback ..."))
    assert table_of(tmp_path, "failures")["caps"]["Error"] == "it fell over"


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="caps bench run"):
        build_tables(tmp_path)


def test_scores_are_exported_in_tsb_ads_layout(tmp_path: Path) -> None:
    out, target = tmp_path / "out", tmp_path / "submission"
    kept = write_done(out, "caps", "NAB", 1, 0.5)
    np.save(kept.path(out).with_suffix(".npy"), np.arange(300.0))
    many = write_done(out, "caps", "MSL", 2, 0.25, channels=3)
    np.save(many.path(out).with_suffix(".npy"), np.arange(300.0))
    write_done(out, "caps", "NAB", 3, 0.5)
    write_done(out, "caps", "NAB", 4, 0.5, filled_values=2)
    facts = export_scores(out, target)
    assert (facts.series, facts.without_scores, facts.with_gaps) == (2, 1, 1)
    scores = np.load(target / "score" / "uni" / "caps" / f"{kept.series[:-4]}.npy")
    np.testing.assert_array_equal(scores, np.arange(300.0))
    assert (target / "score" / "multi" / "caps" / f"{many.series[:-4]}.npy").is_file()
    table = pd.read_csv(target / "metrics" / "uni" / "caps.csv")
    assert list(table.columns) == list(COLUMNS)
    assert set(FIELD_METRICS.values()) < set(COLUMNS)
    assert table["PA-F1"].isna().all()
    assert table["file"].tolist() == [kept.series]
    with pytest.raises(InputError, match="seed 7"):
        export_scores(out, target, seed=7)


def test_json_has_null_where_there_is_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from caps.cli.main import main

    write_done(tmp_path, "lof", "NAB", 1, None)
    with pytest.raises(SystemExit) as stop:
        main(["bench", "table", str(tmp_path), "--json"])
    assert stop.value.code == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = [each for each in found["vus_pr_univariate_test"]["rows"] if each["Method"] == "lof"]
    assert row["NAB"] is None


def test_json_has_the_numbers_that_are_shown_beside_a_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from caps.cli.main import main

    for number, vus in ((1, 0.2), (2, 0.4)):
        for seed, shift in ((0, 0.0), (1, 0.2)):
            write_done(tmp_path, "lof", "NAB", number, vus + shift, seed=seed)
    with pytest.raises(SystemExit) as stop:
        main(["bench", "table", str(tmp_path), "--json"])
    assert stop.value.code == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = [each for each in found["vus_pr_univariate_test"]["rows"] if each["Method"] == "lof"]
    assert row["NAB, std"] == pytest.approx(100 * np.std([0.3, 0.5], ddof=1))
    (row,) = found["tsb_ad_univariate_test"]["rows"]
    assert (row["VUS-PR, series, low"], row["VUS-PR, series, high"]) == pytest.approx((30, 50))


def test_results_of_an_older_configuration_are_told(tmp_path: Path) -> None:
    now = config_hash("lof", make_method)
    write_done(tmp_path, "lof", "NAB", 1, 0.5, config="aaaaaaaa")
    write_done(tmp_path, "random", "NAB", 1, 0.1, config=config_hash("random", make_method))
    tables, _ = build_tables(tmp_path)
    stale = [note for note in tables[0].notes if "older configuration" in note]
    assert len(stale) == 1
    assert "one: lof. caps bench run" in stale[0]
    write_done(tmp_path, "lof", "NAB", 1, 0.7, config=now)
    rows = table_of(tmp_path, "vus_pr_univariate_test")
    assert {"lof@aaaaaaaa", "lof"} <= set(rows)
    assert float(rows["lof"]["NAB"]) == pytest.approx(70)


def test_cells_of_the_small_detector_have_its_name(tmp_path: Path) -> None:
    """What the first format stored as `caps-paper` was never the paper's configuration."""
    out = tmp_path / "out"
    cell = Cell("NAB", SERIES.format(1, "NAB", 1), "caps-paper", "aaa", 0)
    write_cell(out, cell, {**done_record(cell, result(0.5)), "format": 1}, np.arange(300.0))
    write_done(out, "caps-paper", "NAB", 1, 0.7, config="bbb")
    assert {"caps-small", "caps-paper"} <= set(table_of(out, "vus_pr_univariate_test"))
    facts = export_scores(out, tmp_path / "submission", methods=["caps-small"])
    assert facts.methods == ["caps-small"]
