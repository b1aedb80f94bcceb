"""What a watch serves for scraping, whether it is well, and the dashboard over it."""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from minute_load import ORIGIN, TRAIN, load
from prometheus_client.parser import text_string_to_metric_families
from small_servers import SmallPrometheus

from caps import CAPS
from caps.cli.main import main
from caps.watch import Polling, Prometheus, Watcher, Webhook, grafana_dashboard
from caps.watch.figures import HEALTH, METRICS, Figures, Listener

OWN = re.compile(r"\b(?:caps_watch|process)_\w+")


@pytest.fixture
def watched(prometheus: SmallPrometheus, model: CAPS) -> Watcher:
    """Rows of one series, read in one poll."""
    row = TRAIN + 20
    prometheus.series["load"] = [
        ({"__name__": "load", "host": 'a"b'}, lambda moment: load((moment - ORIGIN) // 60))
    ]
    asked = Prometheus(prometheus.url, {"value": "load"}, 60_000)
    clock = lambda: float(ORIGIN + 60 * row + 5)  # noqa: E731
    source = Polling(asked, clock=clock, since=600)
    hook = Webhook("http://127.0.0.1:9/")
    watcher = Watcher(lambda name: model, [source], print, sinks=[hook], clock=clock)
    turns = iter([False, True])
    watcher.run(lambda: next(turns, True))
    return watcher


def samples(text: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[sample.labels.get("series", "")] = sample.value
    return found


def figures_of(watcher: Watcher) -> Figures:
    figures = Figures("1.2", watcher.clock)
    figures.watcher = watcher
    return figures


def test_what_was_expected_and_its_range_are_served_beside_the_value(watched: Watcher) -> None:
    told = samples(figures_of(watched).text().decode())
    (series,) = told["caps_watch_value"]
    lower, expected, value, upper = (
        told[f"caps_watch_{each}"][series] for each in ("lower", "expected", "value", "upper")
    )
    assert lower < expected < upper
    assert lower < value < upper  # a normal row


def dashboard_names() -> set[str]:
    return set(OWN.findall(str(grafana_dashboard())))


def test_scores_incidents_and_health_are_served(watched: Watcher) -> None:
    listener = Listener(("127.0.0.1", 0), figures_of(watched))
    try:
        address = f"http://127.0.0.1:{listener.port}"
        with urllib.request.urlopen(address + METRICS, timeout=60) as answer:
            found = samples(answer.read().decode())
        with urllib.request.urlopen(address + HEALTH, timeout=60) as answer:
            health = json.load(answer)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address + "/else", timeout=60)
    finally:
        listener.close()
    name = 'load{host="a\\"b"}'
    assert health == {"ok": True, "series": 1, "problems": []}
    assert found["caps_watch_value"] == {name: pytest.approx(load(TRAIN + 20))}
    assert 0 <= found["caps_watch_score"][name] <= 1
    assert found["caps_watch_threshold"][name] == watched.streams[name].tracker.threshold
    assert found["caps_watch_rows_total"] == {name: 11.0}
    assert found["caps_watch_last_row_timestamp_seconds"] == {name: ORIGIN + 60.0 * (TRAIN + 20)}
    assert found["caps_watch_incident_open"] == {name: 0.0}


def test_the_dashboard_uses_what_is_served(watched: Watcher, tmp_path: Path) -> None:
    watched.state = watched.state or object()  # type: ignore[assignment]
    served = set(samples(figures_of(watched).text().decode()))
    used = dashboard_names()
    assert used - served == set()
    own = {name for name in served if name.startswith("caps_watch") and "created" not in name}
    assert own - used == set(), "every figure is somewhere on the dashboard"


def test_the_dashboard_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["config", "dashboard"])
    assert json.loads(capsys.readouterr().out)["title"] == "CAPS"


def test_health_names_what_is_wrong(watched: Watcher, prometheus: SmallPrometheus) -> None:
    figures = figures_of(watched)
    (source,) = watched.sources
    assert isinstance(source, Polling)
    prometheus.down = True
    figures.clock = lambda: watched.clock() + 600
    assert figures.health()["problems"] == ["prometheus is 605 s behind"]
    source.at = 0
    source.read(0)
    figures.config_problem = "caps.toml:3: odd"
    watched.sinks[0].failing = True
    problems = figures.health()["problems"]
    assert len(problems) == 3
    assert "answers 503" in problems[1]
    assert "caps_watch_config_ok 0.0" in figures.text().decode()
