"""`caps evaluate` prints the metrics or says what to do, with exit code 2 and no traceback."""

import json

import numpy as np
import pandas as pd
import pytest

from caps.cli.main import main
from caps.metrics import evaluate


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1, 0], [150, 20, 130])
    value = np.sin(2 * np.pi * np.arange(300) / 25)
    return pd.DataFrame({"score": rng.random(300) + 0.3 * label, "label": label, "value": value})


@pytest.fixture
def run(tmp_path, capsys):
    """Write the frame to a file, run `caps evaluate` on it, return exit code and both outputs."""

    def call(content, *options, name="scores.csv", columns=("score", "label")):
        path = tmp_path / name
        if isinstance(content, pd.DataFrame):
            write = content.to_parquet if path.suffix == ".parquet" else content.to_csv
            write(path, index=False)
        elif content is not None:
            path.write_bytes(content)
        with pytest.raises(SystemExit) as stop:
            main(["evaluate", str(path), "--score", columns[0], "--label", columns[1], *options])
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
@pytest.mark.parametrize("protocol", ["caps", "tsb-ad"])
def test_json_holds_the_names_and_values_of_the_library_in_its_order(run, frame, name, protocol):
    code, out, _ = run(frame, "--json", "--protocol", protocol, name=name)
    expected = evaluate(frame["score"], frame["label"], protocol=protocol)
    assert code == 0
    assert list(json.loads(out).items()) == list(expected.as_dict().items())


def test_the_window_is_taken_from_the_value_column_or_the_option(run, frame):
    assert json.loads(run(frame, "--json", "--value", "value")[1])["window"] == 25
    assert json.loads(run(frame, "--json", "--value", "value", "--window", "7")[1])["window"] == 7


def test_the_table_names_protocol_floors_and_oracle_thresholds(run, frame):
    code, out, _ = run(frame, "--protocol", "tsb-ad")
    assert code == 0
    for text in ("protocol tsb-ad", "window 100 (default)", "random", "all ones", "oracle"):
        assert text in out


def test_undefined_metrics_are_null(run, frame):
    code, out, _ = run(frame.assign(label=1), "--json")
    assert code == 0
    assert json.loads(out)["auc_roc"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.head(5), "give more than 100 points or a smaller window"),
        (lambda f: f.assign(score=f["score"].where(f.index != 7)), "score every point"),
        (lambda f: f.assign(label=0), "name the column that holds the labels"),
        (lambda f: f.assign(label=f["label"] * 3), "mark normal points 0"),
        (lambda f: f.rename(columns={"score": "s"}), "name some of s, label, value"),
        (lambda f: f.assign(score="high"), "name columns of numbers"),
        (lambda f: f.head(0), "give at least two rows"),
        (lambda f: b"", "name a file with a header"),
        (lambda f: b"\xff\xfe\x00score", "give its --encoding"),
        (lambda f: None, "name a CSV or Parquet file"),
    ],
)
def test_unusable_files_name_the_remedy_with_exit_code_2(run, frame, change, message):
    code, out, err = run(change(frame))
    assert code == 2
    assert message in err
    assert not out
    assert "Traceback" not in err


def test_a_broken_parquet_file_names_the_remedy(run):
    code, _, err = run(b"no parquet", name="scores.parquet")
    assert code == 2
    assert "is no readable Parquet file" in err


def test_a_spreadsheet_export_is_read_as_its_options_say(run, frame):
    text = frame.rename(columns={"score": "Stärke"}).to_csv(index=False, sep=";", decimal=",")
    options = ["--json", "--delimiter", ";", "--decimal", ",", "--encoding", "cp1252"]
    code, out, _ = run(text.encode("cp1252"), *options, columns=("Stärke", "label"))
    assert code == 0
    assert json.loads(out) == evaluate(frame["score"], frame["label"]).as_dict()


def test_help_shows_an_example(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--help"])
    assert stop.value.code == 0
    assert "caps evaluate scores.csv --score score --label label" in capsys.readouterr().out
