"""The command line reads what the library reads, and names its own options in every refusal."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.cli.main import main
from caps.cli.wording import in_options
from caps.series import READ_OPTIONS, ReadOptions, read
from caps.watch import Records
from untrained_weights import noisy_wave

ROWS = 400
STAMPS = pd.date_range("2024-03-01", periods=ROWS, freq="h")
KEYWORD = re.compile(r"(?<![-\w/])[a-z_]+=")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out, shown.err


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"time": STAMPS, "load": noisy_wave(ROWS).round(3), **columns})


def write(frame: pd.DataFrame, **options: object) -> Path:
    frame.to_csv("file.csv", index=False, **options)
    return Path("file.csv")


def shuffled() -> Path:
    return write(table().sample(frac=1, random_state=0))


def repeated() -> Path:
    return write(pd.concat([table(), table().tail(3)]).sort_values("time"))


def american() -> Path:
    frame = table(time=pd.date_range("2024-01-01", periods=ROWS, freq="31D"))
    frame = frame.assign(time=pd.date_range("2024-01-01", periods=ROWS, freq="MS"))
    return write(frame, date_format="%m/%d/%Y")


def quoted_commas() -> Path:
    return write(table(load=table()["load"].map(lambda value: f"{value:.2f}".replace(".", ","))))


def thousands() -> Path:
    rising = (2000 + np.arange(ROWS) % 17).astype(int)
    return write(table(load=[f"{value:,}" for value in rising]))


def latin() -> Path:
    frame = table().rename(columns={"load": "Auslastung für CPU"})
    return write(frame, encoding="cp1252")


def odd_delimiter() -> Path:
    return write(table(), sep="~")


def with_text() -> Path:
    frame = table(other=["1", *["off"] * (ROWS - 1)])
    return write(frame)


CASES = [
    (shuffled, ["--sort"], "--sort"),
    (repeated, ["--duplicates", "first"], "--duplicates first"),
    (american, ["--time-format", "%m/%d/%Y"], "--time-format"),
    (quoted_commas, ["--decimal", ","], "--decimal ,"),
    (thousands, ["--thousands", ","], "--thousands , if"),
    (latin, ["--encoding", "cp1252"], "--encoding"),
    (odd_delimiter, ["--delimiter", "~"], ""),
    (with_text, ["--exclude", "other"], "--exclude"),
]


@pytest.mark.parametrize(
    ("file", "options", "named"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_a_refusal_names_the_option_that_reads_the_file(
    capsys: pytest.CaptureFixture[str], file: "object", options: list[str], named: str
) -> None:
    path = file()  # type: ignore[operator]
    fast = ["--train", "0.5"]
    code, _, shown = run(capsys, "detect", path, *fast, "--out", "found")
    assert code == 2
    assert named in shown
    assert not KEYWORD.search(shown), shown
    code, _, shown = run(capsys, "detect", path, *fast, "--out", "found", *options)
    assert code == 0, shown
    code, _, shown = run(capsys, "fit", path, *fast, "--out", "model", *options)
    assert code == 0, shown
    # What was said when it was fitted is remembered, and may be said again.
    for command in (["score", "model", path, "--out", "scores.csv"], ["events", "model", path]):
        assert run(capsys, *command)[0] == 0
        assert run(capsys, *command, *options)[0] == 0
    assert run(capsys, "score", "model", path, "--out", "scores.csv")[0] == 0
    assert Path("scores.csv").read_text() == Path("found/scores.csv").read_text()


def test_what_is_said_while_scoring_goes_before_what_the_model_remembers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fast = ["--train", "0.5"]
    assert run(capsys, "fit", write(table()), "--out", "model", *fast)[0] == 0
    score = ["score", "model", shuffled(), "--out", "scores.csv"]
    code, _, shown = run(capsys, *score)
    assert (code, "--sort" in shown) == (2, True)
    assert run(capsys, *score, "--sort")[0] == 0
    assert CAPS.load("model").reading == ReadOptions()


def test_a_long_table_is_sent_to_the_fleet(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.concat([table(host="a"), table(host="b")])
    code, _, shown = run(capsys, "detect", write(frame))
    assert code == 2
    assert "caps fleet fit FILE --id 'host' --columns 'load' --out FOLDER" in shown


def test_the_time_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    path = write(table(time=np.random.default_rng(0).permutation(ROWS) * 1.5))
    fast = ["--train", "0.5", "--json"]
    code, _, shown = run(capsys, "detect", path, *fast)
    assert (code, "--no-time" in shown) == (2, True)
    code, out, shown = run(capsys, "detect", path, *fast, "--no-time", "--exclude", "time")
    assert code == 0, shown
    assert json.loads(out)["channels"] == ["load"]
    code, _, shown = run(capsys, "detect", path, *fast, "--no-time", "--time", "time")
    assert (code, "at once" in shown) == (2, True)


def test_notes_name_options(capsys: pytest.CaptureFixture[str]) -> None:
    frame = table(label=(np.arange(ROWS) % 2), switch=np.arange(ROWS) % 2, seq=np.arange(ROWS))
    fast = ["--train", "0.5", "--json"]
    code, out, shown = run(capsys, "detect", write(frame), "--out", "found", *fast)
    assert code == 0, shown
    notes = json.loads(out)["notes"]
    assert any("name it in --columns" in note for note in notes)
    assert any("--switches" in note for note in notes)
    assert not [note for note in notes if KEYWORD.search(note)]
    assert "name it in --columns" in Path("found/report.html").read_text()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("give sort=True (time=False if this is no time)", "give --sort (--no-time if this is no"),
        ('give duplicates="first", "last" or "keep"', 'give --duplicates first, "last" or "keep"'),
        ("/data/time=5/x.csv does not exist", "/data/time=5/x.csv does not exist"),
        ("there is no column 'sort=True'", "there is no column 'sort=True'"),
        ("give memory=False", "give memory=False"),
    ],
)
def test_only_options_that_exist_are_put_in_place_of_keywords(said: str, shown: str) -> None:
    assert in_options([said])[0].startswith(shown)


@pytest.mark.parametrize("command", ["detect", "fit", "score", "events"])
def test_every_way_to_read_is_an_option_of_every_command(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    _, shown, _ = run(capsys, command, "--help")
    for name in (*READ_OPTIONS, "no_time"):
        assert f"--{name.replace('_', '-')}" in shown


@pytest.mark.parametrize(
    ("options", "line", "moment", "value"),
    [
        ({}, "2024-10-01 00:00:00;1.5", "2024-10-01T00:00", 1.5),
        ({"decimal": ","}, "2024-10-01 00:00:00;1,5", "2024-10-01T00:00", 1.5),
        ({"decimal": ","}, "2024-10-01 00:00:00;1,5 %", "2024-10-01T00:00", 1.5),
        ({}, "2024-10-01 00:00:00;2 KiB", "2024-10-01T00:00", 2048.0),
        ({"time_format": "%d.%m.%Y %H:%M"}, "02.10.2024 00:00;1.5", "2024-10-02T00:00", 1.5),
        ({"timezone": "Europe/Berlin"}, "2024-10-01 00:00:00;1.5", "2024-09-30T22:00", 1.5),
        ({"timezone": "Europe/Berlin"}, "2024-10-01T00:00+00:00;1.5", "2024-10-01T00:00", 1.5),
        ({"unit": "ms"}, "1711111100000;1.5", "2024-03-22T12:38:20", 1.5),
    ],
)
def test_a_watch_reads_rows_as_they_are_written(
    options: dict[str, str], line: str, moment: str, value: float
) -> None:
    records = Records(["load"], reading=ReadOptions(**options))  # type: ignore[arg-type]
    (record,) = records.parse([b"sep=;", b"time;load", line.encode()])
    assert record.time == np.datetime64(moment, "ns").astype(int)
    assert record.values == [value]


def test_a_watch_follows_the_hour_that_comes_twice() -> None:
    stamps = pd.date_range("2024-10-26 23:00", periods=12, freq="30min", tz="Europe/Berlin")
    lines = [f"{stamp:%Y-%m-%d %H:%M},1" for stamp in stamps.tz_localize(None)]
    records = Records(["load"], reading=ReadOptions(timezone="Europe/Berlin"))
    found = records.parse([b"time,load", *(line.encode() for line in lines)])
    assert [record.time for record in found] == stamps.as_unit("ns").asi8.tolist()


def test_a_watch_says_how_a_comma_is_read() -> None:
    complaints: list[str] = []
    records = Records(["load"], complain=complaints.append)
    assert records.parse([b"time;load", b"2024-10-01 00:00:00;1,5"]) == []
    assert "--decimal ," in complaints[0]


def test_a_model_scores_a_file_as_its_reading_says(tmp_path: Path) -> None:
    path = shuffled()
    model = CAPS(train=0.5, reading=ReadOptions(sort=True)).fit(path)
    expected = model.decision_function(read(path, sort=True))
    np.testing.assert_array_equal(model.decision_function(path), expected)
    model.save("model")
    assert CAPS.load("model").reading == ReadOptions(sort=True)


def test_times_are_shown_by_the_clock_of_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # a time in one line
    stamps = pd.date_range("2024-10-20", periods=ROWS, freq="h", tz="Europe/Berlin")
    frame = table(time=stamps.tz_localize(None))
    frame.loc[350:354, "load"] += 9
    fast = ["--train", "0.5"]
    code, out, shown = run(capsys, "detect", write(frame), *fast)
    assert code == 0, shown
    assert "times in Europe/Berlin" in out
    start = int(pd.read_csv("file-caps/events.csv")["start_row"].iloc[-1])
    assert f"{frame['time'][start]:%y-%m-%d %H:%M}" in out
