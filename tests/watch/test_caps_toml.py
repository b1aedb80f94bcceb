"""caps.toml: read as a whole, with line numbers and remedies; reloaded with nothing lost."""

import json
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from minute_load import ORIGIN, TRAIN, load
from small_servers import SmallAlertmanager, SmallPrometheus

from caps import CAPS
from caps.cli.main import main
from caps.errors import InputError
from caps.watch import ConfigError, Watch, read_config, seconds_in
from caps.watch.config_file import line_numbers
from patience import wait_until

WHOLE = """
alarms = "1/day"

[[sources]]
name = "dc1"
prometheus = "http://localhost:9090"
queries = { cpu = "cpu", memory = '''
mem''' }
step = "30s"
since = "7d"

[fit]
out = "fleet"
train = "all"
detector = false
seed = 3

[rules]
merge_gap = 4

[watch]
state = "watch"
listen = "127.0.0.1:9410"
recovery = "10m"
no_data = 5
forget = "12h"

[[series]]
match = "*db*"
alarms = "1/week"

[[series]]
match = "*test*"
ignore = true

[[sinks]]
kind = "alertmanager"
url = "http://localhost:9093"
labels = { team = "shop" }

[[sinks]]
kind = "webhook"
url = "https://example.org/hook"
secret_file = "secret"
least_severity = "high"

[refits]
every = "7d"
on_drift = true
keep = 5

[[planned]]
name = "release"
start = 2024-06-01T20:00:00Z
end = "2024-06-01T22:00"
series = ["*shop*"]
"""


def line_of(text: str) -> int:
    return WHOLE[: WHOLE.index(text)].count("\n") + 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("s3cret\n")
    found = tmp_path / "caps.toml"
    found.write_text(WHOLE)
    return found


def test_a_whole_file_is_read(path: Path) -> None:
    config = read_config(path)
    (source,) = config.sources
    assert dict(source.queries) == {"cpu": "cpu", "memory": "mem"}
    assert (source.step, source.since) == (30.0, 7 * 86400.0)
    assert (config.models, config.state) == (
        path.parent / "fleet" / "models",
        path.parent / "watch",
    )
    assert config.listen == ("127.0.0.1", 9410)
    assert config.recovery == np.timedelta64(10, "m")
    assert [each.name for each in config.sinks] == ["alertmanager", "webhook"]
    assert config.sinks[1].secret == "s3cret"
    options = config.fit_options()
    assert (options.causal, options.train, options.seed) == (True, "all", 3)
    assert (options.alarms, options.rules.merge_gap) == ("1/day", 4)
    assert (config.refits.every, config.refits.keep) == (7 * 86400.0, 5)
    (release,) = config.planned.entries
    assert release.spans == (
        (np.datetime64("2024-06-01T20:00"), np.datetime64("2024-06-01T22:00")),
    )


def test_lines_are_found_where_values_take_several() -> None:
    text = 'a = """\nb = 1\n"""\n[t]\nc = [\n 1,\n 2]\nd = 2\n'
    assert line_numbers(text) == {("a",): 1, ("t",): 4, ("t", "c"): 5, ("t", "d"): 8}


@pytest.mark.parametrize(
    ("old", "new", "problem", "remedy"),
    [
        ('alarms = "1/day"', 'alarms = "often"', "alarms", "1/day"),
        ('step = "30s"', "step = 30", "step is 30", "give a text"),
        ('step = "30s"', 'step = "soon"', "no length of time", "30s"),
        ('step = "30s"', 'stepp = "30s"', "no setting 'stepp' in [sources]", "step"),
        ('"http://localhost:9090"', '"localhost"', "no web address", "http://"),
        ("[watch]", "[wach]", "no setting 'wach'", "watch"),
        ('listen = "127.0.0.1:9410"', 'listen = "here"', "no address to listen on", "9410"),
        ("merge_gap = 4", "merge_gap = -4", "merge_gap is -4", "0 on"),
        ("seed = 3", 'seed = "three"', "seed", "whole"),
        ('kind = "alertmanager"', 'kind = "pager"', "kind is 'pager'", "alertmanager"),
        ('secret_file = "secret"', 'secret_file = "none"', "cannot be read", "text file"),
        ('least_severity = "high"', 'least_severity = "max"', "least_severity", "medium"),
        ('match = "*db*"', "", "series without match", "match ="),
        ('end = "2024-06-01T22:00"', 'end = "2024-05-01"', "not after", "correct them"),
        ('series = ["*shop*"]', 'match = "*shop*"', "odd key 'match'", "series"),
        ("keep = 5", "keep = 0", "keep is 0", "from 2 on"),
        ("[rules]", "[rules", "no TOML", "correct the line"),
        ('kind = "webhook"', 'kind = "alertmanager"', "two sinks", "name ="),
    ],
)
def test_a_problem_has_its_line_and_a_remedy(
    path: Path, old: str, new: str, problem: str, remedy: str
) -> None:
    path.write_text(WHOLE.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    (found,) = (each for each in caught.value.problems if problem in each.what)
    assert remedy in found.remedy
    # That of the table, where a setting is missing or a table is there twice.
    of_table = {"series without match": "[[series]]", "two sinks": '[[sinks]]\nkind = "webhook"'}
    of_table |= dict.fromkeys(("not after", "odd key 'match'"), "[[planned]]")
    assert found.line == line_of(of_table.get(problem, old))


def test_config_check_says_every_problem(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text(WHOLE.replace("keep = 5", "keep = 0").replace('"30s"', '"soon"'))
    with pytest.raises(SystemExit) as stop:
        main(["config", "check", str(path)])
    assert stop.value.code == 2
    shown = capsys.readouterr().out
    assert [line.split(":")[1] for line in shown.splitlines() if "caps.toml" in line] == [
        str(line_of('step = "30s"')),
        str(line_of("keep = 5")),
    ]
    assert shown.count("fix: ") == 2
    path.write_text(WHOLE)
    with pytest.raises(SystemExit) as stop:
        main(["config", "check", str(path), "--json"])
    assert stop.value.code == 0
    assert json.loads(capsys.readouterr().out)["sinks"] == ["alertmanager", "webhook"]


def test_options_beside_a_file_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["watch", "--alarms", "1/day"], ["fleet", "fit", "--out", "x"]):
        with pytest.raises(SystemExit) as stop:
            main([*command, "--config", str(path)])
        assert stop.value.code == 2
        assert "say everything in the file" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("500ms", 0.5)])
def test_lengths_of_time_are_those_of_prometheus(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds
    with pytest.raises(InputError, match="such as"):
        seconds_in(f"{text}!")


class Reloaded:
    """A watch in a thread, by a clock of its own."""

    def __init__(self, path: Path, model: CAPS, text: str) -> None:
        self.path, self.row, self.lines = path, TRAIN + 60, []
        path.write_text(text)
        self.watch = Watch(
            read_config(path), lambda folder, several, files: (model, lambda name: model),
            lambda line: self.lines.append(json.loads(line)),
            clock=lambda: float(ORIGIN + 60 * self.row + 5),
        )  # fmt: skip


def test_a_change_takes_over_without_losing_state(
    prometheus: SmallPrometheus, alertmanager: SmallAlertmanager, model: CAPS, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def value(moment: int) -> float:
        row = (moment - ORIGIN) // 60
        return load(row) + (15.0 if row >= TRAIN + 55 else 0.0)

    prometheus.series["load"] = [({"__name__": "load", "host": "a"}, value)]
    text = (
        f'[[sources]]\nprometheus = "{prometheus.url}"\nquery = "load"\nsince = "5h"\n'
        '[watch]\nmodels = "m"\n[[sinks]]\nkind = "alertmanager"\n'
        f'url = "{alertmanager.url}"\nresend = "1h"\n'
    )
    run = Reloaded(tmp_path / "caps.toml", model, text)

    def changes() -> None:
        try:
            wait_until(lambda: any(line.get("alert") for line in run.lines), "an incident opens")
            run.path.write_text(text + "[wrong]\n")
            run.watch.hangups += 1
            wait_until(lambda: run.watch.hangups == 0, "the file was looked at")
            run.path.write_text(text + 'labels = { team = "shop" }\n')
            wait_until(lambda: run.watch.config.sinks[0].labels, "the change is in force")
            wait_until(
                lambda: any("team" in alert["labels"] for alert in alertmanager.alerts), "told anew"
            )
        finally:
            run.watch.asked.append(signal.SIGTERM)

    changing = threading.Thread(target=changes)
    changing.start()
    summary = run.watch.run()
    changing.join()
    assert "stays as it was" in capsys.readouterr().err
    alerts = [line for line in run.lines if line.get("alert")]
    assert len({line["id"] for line in alerts}) == len(alerts) >= 1
    assert summary["rows"] == 301  # those of the first watcher, known to the second
