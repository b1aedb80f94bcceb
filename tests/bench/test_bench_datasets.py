"""TSB-AD data as users download it, and everything that can be wrong with it."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_series import WriteSeries

from caps.bench.datasets import SeriesFile, find_series, load_series
from caps.bench.selection import listed_names, missing_of, select, series_of, set_names
from caps.errors import InputError


def zipped(folder: Path, path: Path, top: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.glob("*.csv")):
            archive.write(file, f"{top}{file.name}")
    return path


@pytest.mark.parametrize("top", ["", "TSB-AD-U/"])
def test_zips_and_folders_give_the_same_series(
    data: Path, write_series: WriteSeries, tmp_path: Path, top: str
) -> None:
    for number in (2, 1):
        write_series("NAB", number)
    (data / "MANIFEST.csv").write_text("name\n")
    archive = zipped(data, tmp_path / "TSB-AD-U.zip", top)
    from_folder, from_zip = find_series([data]), find_series([archive])
    assert [file.name for file in from_folder] == [file.name for file in from_zip]
    assert [file.dataset for file in from_zip] == ["NAB", "NAB"]
    for one, other in zip(from_folder, from_zip, strict=True):
        first, second = load_series(one), load_series(other)
        np.testing.assert_array_equal(first.values, second.values)
        assert first.sha256 == second.sha256
        assert (first.train, first.channels, first.labels.sum()) == (300, 1, 20)


@pytest.mark.parametrize(
    ("name", "dataset", "train"),
    [
        ("002_MSL_id_1_Sensor_tr_500_1st_900.csv", "MSL", 500),
        ("KPI_1c6d7a26-1f1a-3321-bb4d_test_tr_3624_1st_3724.csv", "KPI", 3624),
        ("057_SMD_id_1_Facility_tr_4529_1st_4629.csv", "SMD", 4529),
        ("140_CATSv2_id_2_Sensor_tr_13336_1st_49094.csv", "CATSv2", 13336),
    ],
)
def test_file_names_tell_dataset_and_training_rows(name: str, dataset: str, train: int) -> None:
    file = SeriesFile.named(name, "somewhere")
    assert file is not None
    assert (file.dataset, file.train) == (dataset, train)


@pytest.mark.parametrize("name", ["MANIFEST.csv", "._001_NAB_id_1_tr_5_1st_6.csv", "TSB-AD-U.csv"])
def test_other_files_are_no_series(name: str) -> None:
    assert SeriesFile.named(name, "somewhere") is None


def test_a_series_given_twice_counts_once(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    write_series()
    assert len(find_series([data, zipped(data, tmp_path / "again.zip")])) == 1


def test_several_channels_are_read_in_order(data: Path, write_series: WriteSeries) -> None:
    write_series("MSL", 3, channels=4)
    series = load_series(find_series([data])[0])
    assert series.values.shape == (600, 4)


def spoil(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new, 1))


def test_missing_values_are_interpolated_and_counted(data: Path, write_series: WriteSeries) -> None:
    path = data / write_series()
    lines = path.read_text().splitlines()
    lines[2:5] = ["1.0,0", ",0", "inf,0"]
    lines[5] = "4.0,0"
    path.write_text("\n".join(lines))
    series = load_series(find_series([data])[0])
    np.testing.assert_allclose(series.values[1:5, 0], [1, 2, 3, 4])
    assert series.filled == 2


@pytest.mark.parametrize(
    ("old", "new", "remedy"),
    [
        ("Label", "Truth", "add a column of 0 and 1"),
        (",0\n", ",2\n", "mark every row 0 or 1"),
        (",0\n", ",\n", "mark every row 0 or 1"),
    ],
)
def test_a_spoiled_file_is_an_error_with_a_remedy(
    data: Path, write_series: WriteSeries, old: str, new: str, remedy: str
) -> None:
    spoil(data / write_series(), old, new)
    with pytest.raises(InputError, match=remedy):
        load_series(find_series([data])[0])


def test_a_channel_without_numbers_is_an_error(data: Path) -> None:
    rows = "\n".join(["broken,0"] * 20)
    (data / "001_NAB_id_1_Web_tr_10_1st_15.csv").write_text(f"Data,Label\n{rows}\n")
    with pytest.raises(InputError, match="no number in column 'Data'"):
        load_series(find_series([data])[0])


def test_a_training_part_as_long_as_the_series_is_an_error(
    data: Path, write_series: WriteSeries
) -> None:
    write_series(rows=300, train=300, anomaly=None)
    with pytest.raises(InputError, match="names 300 training rows"):
        load_series(find_series([data])[0])


def test_an_empty_file_is_an_error(data: Path) -> None:
    (data / "001_NAB_id_1_Web_tr_10_1st_15.csv").write_text("")
    with pytest.raises(InputError, match="no CSV file"):
        load_series(find_series([data])[0])


def test_a_file_that_is_no_zip_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "TSB-AD-U.zip"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="download it again"):
        find_series([path])


def test_a_damaged_member_costs_only_itself(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    names = [write_series("NAB", number) for number in (1, 2)]
    archive = zipped(data, tmp_path / "half.zip")
    content = bytearray(archive.read_bytes())
    content[len(names[0]) + 200] ^= 0xFF
    archive.write_bytes(bytes(content))
    first, second = find_series([archive])
    with pytest.raises(InputError, match="download the zip again"):
        load_series(first)
    assert load_series(second).train == 300


@pytest.mark.parametrize("make", [lambda path: path, lambda path: path.mkdir() or path])
def test_data_that_is_not_there_is_an_error(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(InputError):
        find_series([make(tmp_path / "nowhere")])


def test_sets_are_lists_of_file_names_over_several_datasets() -> None:
    for name in ("dev-mini", "dev", "eva", "tsb-ad-u-eva", "tsb-ad-m-eva", "tsb-ad-u-tuning"):
        files = [SeriesFile.named(each, "") for each in set_names(name)]
        assert all(files)
        assert len({file.dataset for file in files if file}) >= 7


def test_tsb_ads_lists_are_whole_and_share_nothing() -> None:
    counts = {"u-eva": 350, "m-eva": 180, "u-tuning": 48, "m-tuning": 20}
    lists = {name: set_names(f"tsb-ad-{name}") for name in counts}
    assert {name: len(names) for name, names in lists.items()} == counts
    every = [name for names in lists.values() for name in names]
    assert len(set(every)) == len(every)
    assert set_names("eva") == lists["u-eva"] + lists["m-eva"]


def test_of_tsb_ads_lists_what_is_there_is_taken_and_the_rest_is_named(
    data: Path, write_series: WriteSeries
) -> None:
    listed = set_names("tsb-ad-m-tuning")
    (data / write_series("MSL", 901, channels=2)).rename(data / listed[3])
    write_series("NAB", 902)
    found = find_series([data])
    assert [file.name for file in series_of("tsb-ad-m-tuning", found)] == [listed[3]]
    there = {file.name for file in found}
    missing = missing_of("tsb-ad-m-tuning", there)
    assert missing == [name for name in listed if name != listed[3]]
    only_msl = missing_of("tsb-ad-m-tuning", there, ["MSL"])
    assert only_msl == [name for name in missing if "_MSL_" in name]
    assert missing_of("tune", there) == []


def test_the_tuning_set_is_on_no_evaluation_list_short_univariate_and_spread(
    data: Path, write_series: WriteSeries
) -> None:
    numbers = range(901, 931)  # TSB-AD ends at 870
    names = [write_series("UCR", number, rows=40) for number in numbers]
    write_series("SED", 940, rows=40_001)
    write_series("SMD", 941, rows=40, channels=2)
    (data / write_series("KPI", 942, rows=40)).rename(data / "KPI_a_test_tr_300_1st_450.csv")
    (data / write_series("NAB", 943)).rename(data / set_names("eva")[0])
    found = find_series([data])
    tuned = series_of("tune", found)
    assert [file.dataset for file in tuned] == ["IOPS"] + ["UCR"] * 16
    chosen = [names.index(file.name) for file in tuned[1:]]
    assert (chosen[0], chosen[-1]) == (0, 29)
    assert set(np.diff(chosen)) <= {1, 2}
    assert [file.dataset for file in series_of("eva", found)] == ["NAB"]
    assert series_of("full", found) == found


def test_a_set_that_is_not_there_is_an_error(data: Path, write_series: WriteSeries) -> None:
    write_series("NAB", 943)
    found = find_series([data])
    with pytest.raises(InputError, match="no series of the set 'eva'"):
        series_of("eva", found)
    with pytest.raises(InputError, match="eva, dev-mini, dev, tune-short, tune, full"):
        series_of("devil", found)


def test_a_folder_of_zips_gives_their_series(data: Path, write_series: WriteSeries) -> None:
    path = data / write_series()
    zipped(data, data / "TSB-AD-U.zip")
    path.unlink()
    assert [file.name for file in find_series([data])] == [path.name]


def test_selection_takes_names_datasets_and_at_most_so_many_of_each(
    data: Path, write_series: WriteSeries, tmp_path: Path
) -> None:
    names = [write_series(each, number) for number, each in enumerate(["NAB", "UCR"] * 3)]
    found = find_series([data])
    (tmp_path / "list.txt").write_text(f"file_name\n# two\n{names[3]}\n{names[0]}\n")
    listed = listed_names(tmp_path / "list.txt")
    assert [file.name for file in select(found, names=listed)] == [names[3], names[0]]
    assert {file.dataset for file in select(found, datasets=["UCR"])} == {"UCR"}
    limited = select(found, limit=2)
    assert [file.dataset for file in limited] == ["NAB", "UCR"] * 2


def test_a_selection_that_the_data_lacks_is_an_error(data: Path, write_series: WriteSeries) -> None:
    write_series()
    found = find_series([data])
    with pytest.raises(InputError, match="1 of 1 series are not in the data"):
        select(found, names=["005_NAB_id_5_Web_tr_1_1st_2.csv"])
    with pytest.raises(InputError, match="there are NAB to choose from"):
        select(found, datasets=["UCR"])
    with pytest.raises(InputError, match="1 or more"):
        select(found, limit=0)
