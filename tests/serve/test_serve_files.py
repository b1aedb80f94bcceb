"""The directory after crashes: finished fits are there, half-finished ones are gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import running_service
from running_service import TRAIN, broken_table, csv_of, listening, settings, wait_for_fit

from caps.serve.files import ModelFolder, SeriesFolder
from caps.serve.refusals import Refusal
from patience import PATIENCE

REQUEST = {"series": "pump", "alarms": "1/day"}


def finish(out: Path) -> None:
    out.mkdir()
    (out / "facts.json").write_text('{"channels": ["a"]}')


def test_a_fit_is_in_force_only_once_it_is_whole(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path, most=5)
    out = models.begin("a", REQUEST)
    assert models.record("a") is None
    with pytest.raises(Refusal, match="not fitted yet"):
        models.ready("a")
    finish(out)
    models.commit("a")
    assert models.ready("a").fit == out.name
    again = models.begin("a", REQUEST)
    assert models.ready("a").fit == out.name
    finish(again)
    models.commit("a")
    assert models.ready("a").fit == again.name
    assert not out.exists()


def test_a_start_finishes_what_was_fitted_and_cleans_the_rest(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path, most=5)
    finish(models.begin("finished", REQUEST))
    begun = models.begin("begun", REQUEST)
    (begun.parent / f".new-{begun.name}").mkdir()
    finish(models.begin("older", REQUEST))
    models.commit("older")
    models.set_alarms("older", "1/week")
    models.begin("older", REQUEST)
    (tmp_path / ".new-rubbish").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "record.json").write_text("{")
    models = ModelFolder(tmp_path, most=5)
    models.recover()
    assert models.record("finished") is not None
    assert models.pending("begun").failed
    assert models.ready("older").alarms == "1/week"
    assert "stopped" in models.pending("older").problem
    hidden = [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
    assert hidden == []
    models.delete("damaged")
    assert models.names() == ["begun", "finished", "older"]


def test_a_series_appears_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = SeriesFolder(tmp_path, most=1)
    with suppress(OSError), folder.adding("a") as path:
        (path / "data.csv").write_text("a\n1\n")
        raise OSError("the disk is full")
    assert list(tmp_path.iterdir()) == []
    with folder.adding("a") as path:
        (path / "data.csv").write_text("a\n1\n")
    with pytest.raises(Refusal, match="already"), folder.adding("a"):
        pass
    with pytest.raises(Refusal, match="make room"), folder.adding("b"):
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def children_of(process: int) -> list[int]:
    """The workers of a process, without what multiprocessing keeps to track resources."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    commands = {int(each): Path(f"/proc/{each}/cmdline") for each in found}
    return [each for each, path in commands.items() if b"spawn_main" in path.read_bytes()]


def gone(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killing_the_service_loses_no_finished_model(tmp_path: Path, weights: Path) -> None:
    port = free_port()
    command = [sys.executable, running_service.__file__, str(tmp_path), str(weights), str(port)]
    paths = os.pathsep.join([str(Path(running_service.__file__).parents[1]), *sys.path])
    service = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            while True:
                try:
                    client.get("/ready")
                    break
                except httpx.TransportError:
                    assert service.poll() is None
                    time.sleep(0.2)
            client.post("/v1/series?name=pump", content=csv_of(broken_table()))
            asked = {"series": "pump", "train": TRAIN, "columns": ["load"]}
            client.put("/v1/models/a", json=asked)
            assert wait_for_fit(client, "a")["ready"]
            before = client.get("/v1/models/a/events").json()
            client.put("/v1/models/a", json=asked | {"replace": True, "seed": 1})
            client.put("/v1/models/b", json=asked)
            while not (children := children_of(service.pid)):
                time.sleep(0.05)
    finally:
        service.send_signal(signal.SIGKILL)
        service.wait()
    while not all(gone(child) for child in children):
        time.sleep(0.05)
    again = settings(tmp_path, weights)
    with listening(again) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        assert client.get("/v1/models/a/events").json() == before
        for name, ready in (("a", True), ("b", False)):
            facts = client.get(f"/v1/models/{name}").json()
            assert facts["ready"] is ready
            assert "stopped" in facts["fit"]["problem"]
        # A detector takes longer than the moment that a fit is given to finish.
        client.put("/v1/models/b", json=asked | {"detector": "auto"})
    # Stopped in order, a fit that is not finished is told as such too.
    models = ModelFolder(tmp_path / "models", most=5)
    assert "stopped" in models.pending("b").problem
    assert not list((tmp_path / "models").rglob(".*"))
