"""The page on Prometheus: its file is sound, its code and command run, its names are the code's."""

import inspect
import re
import time
from pathlib import Path

import pytest
from minute_load import load
from small_servers import SmallPrometheus

from caps.cli.main import main
from caps.cli.watch import watch
from caps.watch import alertmanager, grafana_dashboard, read_config, signature, sources
from caps.watch.alerts import NAMES, TITLES
from caps.watch.config import STEPS
from caps.watch.config_file import MANY, ONE, SINK, SOURCE, WATCH
from caps.watch.prometheus import MOST_POINTS, MOST_VALUES

PAGE = (Path(__file__).parents[2] / "docs" / "prometheus.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_file_on_the_page_is_sound_and_shows_every_table(tmp_path: Path) -> None:
    text = block("toml")
    (tmp_path / "caps.toml").write_text(text)
    config = read_config(tmp_path / "caps.toml")
    assert [each.kind for each in config.sinks] == ["alertmanager", "slack"]
    assert config.series[1].ignore
    tables = set(re.findall(r"^\[+(\w+)\]+", text, re.M))
    assert tables == {*ONE, *MANY}
    for name in set(SOURCE) - {"name", "lookback"}:
        assert re.search(rf"\b{name} =", text), name
    for name in set(WATCH) - {"lateness", "updates"}:
        assert re.search(rf"\b{name} =", text), name
    assert set(
        re.findall(r"^(\w+) =", text.split("[[sinks]]", 1)[1].split("[refits]")[0], re.M)
    ) <= {*SINK}


def test_the_receiver_on_the_page_knows_what_is_genuine() -> None:
    names: dict = {}
    exec(compile(block("python"), "prometheus.md", "exec"), names)
    now, body = int(time.time()), b'{"what": "opened"}'
    genuine = names["is_genuine"]
    assert genuine("secret", signature("secret", body, now), body)
    assert not genuine("secret", signature("other", body, now), body)
    assert not genuine("secret", signature("secret", body, now), body + b" ")
    assert not genuine("secret", signature("secret", body, now - 86400), body)


def test_the_first_command_runs(
    prometheus: SmallPrometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = re.search(r"^caps (fit .*)$", PAGE, re.M)
    assert command is not None
    query = re.search(r"'(.*?)'", command[1])
    assert query is not None
    prometheus.series[query[1]] = [({"host": "a"}, lambda moment: load(moment // 60))]
    words = command[1].replace(f"'{query[1]}'", "QUERY").split()
    given = {"QUERY": query[1], "http://localhost:9090": prometheus.url, "7d": "1d"}
    given["models/"] = str(tmp_path / "models")
    with pytest.raises(SystemExit) as stop:
        main([given.get(word, word) for word in words])
    assert stop.value.code == 0, capsys.readouterr().err
    assert len(list((tmp_path / "models").glob("*/manifest.json"))) == 1


def test_options_names_and_numbers_are_those_of_the_code() -> None:
    options = {name.replace("_", "-") for name in inspect.signature(watch).parameters}
    shown = set(re.findall(r"(?<![\w.])--([a-z]+[a-z-]*)", PAGE))
    assert shown - {"out", "query", "data", "config"} <= options | {"query"}
    for name in {*NAMES.values()}:
        assert f"`{name}`" in PAGE
    for what in TITLES:
        assert f"`{what}`" in PAGE
    assert f"{MOST_POINTS:,} points a series and {MOST_VALUES:,} values" in PROSE
    assert f"again every {alertmanager.RESEND:g} s, with an end {alertmanager.VALID} times" in PROSE
    assert f"what is over for {alertmanager.RETAIN / 60:g} minutes" in PROSE
    assert f"been there for {alertmanager.SETTLE:g} s" in PROSE
    assert STEPS == 5
    assert "five steps" in PROSE
    assert inspect.signature(sources.Polling).parameters["delay"].default == 5.0


def test_the_table_of_metrics_is_that_of_the_dashboard() -> None:
    dashboard = str(grafana_dashboard())
    own = re.compile(r"caps_watch_\w+")
    assert set(own.findall(PAGE)) == set(own.findall(dashboard))
