"""`caps watch` on files, standard input and a web server: events, alerts, kill and restore."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.cli.main import main
from caps.detect import Event, EventRules
from caps.detect.stream_events import EventChange
from caps.watch import Incidents, Lines, Records, Watcher, WatchState, Webhook
from patience import PATIENCE
from untrained_weights import FAST, noisy_wave, save_untrained_weights

ROWS, TRAIN = 1100, 700


def metrics() -> pd.DataFrame:
    time = pd.date_range("2024-05-01", periods=ROWS, freq="min")
    load = noisy_wave(ROWS)
    load[760:775] += 6
    load[790] += 9
    load[950:960] -= 6
    return pd.DataFrame({"time": time, "load": load}).drop(index=range(850, 870))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")
    model = CAPS(
        train=TRAIN, causal=True, pretrained=weights, detector=FAST, construction="injection",
        references=48, alarms="1/300", rules=EventRules(merge_gap=6),
    )  # fmt: skip
    saved = tmp_path_factory.mktemp("model") / "model"
    model.fit(metrics()).save(saved)
    return saved


@pytest.fixture(scope="module")
def spans(folder: Path) -> list[tuple[int, int]]:
    """The events of the batch, in rows of the grid."""
    return [(event.start, event.end) for event in CAPS.load(folder).analyze(metrics()).spans]


def disturbed(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows up to 4 steps late, some twice."""
    rng = np.random.default_rng(0)
    order = np.argsort(frame.index.to_numpy() + rng.integers(0, 5, len(frame)), kind="stable")
    twice = np.sort(np.concatenate([np.arange(len(frame)), rng.choice(len(frame), 30)]))
    return frame.iloc[order].iloc[twice]


def ndjson(frame: pd.DataFrame) -> str:
    rows = [{"ts": str(row.time), "load": row.load} for row in frame.itertuples()]
    return "".join(json.dumps(row) + "\n" for row in rows)


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> list[dict]:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(SystemExit) as stop:
        main(["watch", *(str(argument) for argument in arguments)])
    for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
        signal.signal(number, handler)
    shown = capsys.readouterr()
    assert stop.value.code == code, shown.err
    return [json.loads(line) for line in shown.out.splitlines()] if code == 0 else [{"": shown.err}]


def closed(lines: list[dict]) -> list[tuple[int, int]]:
    return [(line["start_row"], line["end_row"]) for line in lines if line["what"] == "closed"]


def test_a_file_gives_the_events_of_the_batch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, spans: list
) -> None:
    path = tmp_path / "metrics.csv"
    disturbed(metrics()).to_csv(path, index=False)
    lines = run(capsys, folder, "--input", path, "--lateness", 4, "--recovery", 40, "--json")
    assert closed(lines) == spans
    assert len(spans) >= 3
    summary = lines[-1]
    assert summary["what"] == "summary"
    assert summary["rows"] == len(metrics())
    assert (summary["duplicate"], summary["late"]) == (30, 0)
    assert summary["gaps"] == 1
    # 760..775 and 790 are one incident with a recovery window of 40 rows.
    alerts = [line for line in lines if line.get("alert")]
    over = [line for line in lines if line["what"] == "recovered"]
    assert len(alerts) == len(over) == summary["incidents"] < summary["events"] == len(spans)
    assert sum(line["events"] for line in over) == len(spans)
    first = next(line for line in lines if line["what"] == "opened")
    assert first["contributions"] == {"load": 1.0}
    assert first["start"].endswith("Z")


def test_malformed_lines_are_counted_and_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(
        "ts,load\n2024-05-01T00:00:00,5\n2024-05-01T00:01:00,high\n,5\n2024-05-01T00:02,1,2\n"
        "\n2024-05-01T00:03:00,\n2024-05-01T00:04:00,5"
    )
    summary = run(capsys, folder, "--input", path, "--json")[-1]
    assert (summary["rows"], summary["missing"], summary["malformed"]) == (3, 1, 3)


@pytest.mark.parametrize(
    ("text", "arguments", "remedy"),
    [
        ("ts,heat\n1,2\n", (), "channels of the model"),
        ("when,load\n1,2\n", (), "--time"),
        ("ts,load\n1,2\n", ("--time", "when"), "--time one of ts, load"),
        ("ts,load\n1,2\n", ("--id", "host"), "--id one of ts, load"),
        ("ts,load\n1,2\n", ("--webhook", "ftp://x"), "http"),
        ("ts,load\n1,2\n", ("--lateness", "-1"), "give 0"),
        ("ts,load\n1,2\n", ("--recovery", "-1"), "give 0"),
    ],
)
def test_unusable_input_names_the_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, text: str,
    arguments: tuple[str, ...], remedy: str,
) -> None:  # fmt: skip
    path = tmp_path / "metrics.csv"
    path.write_text(text + "2024-05-01,1\n")
    assert remedy in run(capsys, folder, "--input", path, *arguments, code=2)[0][""]


def test_several_series_by_id_have_streams_of_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, spans: list
) -> None:
    frame = metrics()
    calm = frame.assign(load=noisy_wave(ROWS, seed=5)[: len(frame)])
    both = pd.concat([frame.assign(host="a"), calm.assign(host="b"), calm.assign(host="../c")])
    both = both.sort_values("time", kind="stable")
    path = tmp_path / "hosts.csv"
    both.to_csv(path, index=False)
    models = tmp_path / "models"
    models.mkdir()
    for host in "ab":
        (models / host).symlink_to(folder)
    lines = run(capsys, models, "--input", path, "--id", "host", "--json")
    assert closed([line for line in lines if line["series"] == "a"]) == spans
    assert lines[-1]["series"] == 2
    assert lines[-1]["unknown"] == len(calm)


def command(folder: Path, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "caps.cli.main", "watch", str(folder), *map(str, arguments)]


def test_a_killed_watch_goes_on_without_telling_anything_twice(
    tmp_path: Path, folder: Path, spans: list
) -> None:
    """kill -9 in the middle of an event, SIGTERM in the middle of another, then the rest."""
    text = disturbed(metrics()).to_csv(index=False).splitlines(keepends=True)
    path, out = tmp_path / "metrics.csv", tmp_path / "told.ndjson"
    path.write_text("")
    arguments = ("--input", path, "--follow", "--lateness", 4, "--state", tmp_path / "state")
    written = 0
    for upto, end in ((790, signal.SIGKILL), (985, signal.SIGTERM), (len(text), signal.SIGTERM)):
        with path.open("a") as growing:
            growing.write("".join(text[written:upto]))
            growing.write(text[upto][:9] if upto < len(text) else "")  # a line half written
        with out.open("a") as told:
            process = subprocess.Popen(
                command(folder, *arguments, "--save-every", "0.2"), stdout=told, stderr=-1
            )
            wait_until_read(tmp_path / "state", sum(map(len, text[:upto])))
            process.send_signal(end)
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == (-9 if end == signal.SIGKILL else 0), errors
        with path.open("a") as growing:
            growing.write(text[upto][9:] if upto < len(text) else "")
        written = upto + 1
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert closed(lines) == spans
    assert len({line["id"] for line in lines}) == len(lines)


def wait_until_read(state: Path, offset: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for manifest in state.glob("*/manifest.json"):
            try:
                if json.loads(manifest.read_text())["extra"]["place"]["offset"] >= offset:
                    return
            except (OSError, ValueError):
                continue
        time.sleep(0.05)
    raise AssertionError(f"{offset} bytes were not read in time")


class Receiver(BaseHTTPRequestHandler):
    """Fails at first, then keeps what it is sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answers: list[int] = self.server.answers  # type: ignore[attr-defined]
        answer = answers.pop(0) if answers else 204
        self.server.seen.append(  # type: ignore[attr-defined]
            (answer, self.headers["Idempotency-Key"], json.loads(body))
        )
        self.send_response(answer)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.answers, server.seen = [], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def address(server: HTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/alerts"


def test_alerts_reach_a_web_server_that_fails_at_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, receiver: HTTPServer
) -> None:
    receiver.answers += [500, 503]  # type: ignore[attr-defined]
    path = tmp_path / "metrics.ndjson"
    path.write_text(ndjson(metrics()))
    lines = run(capsys, folder, "--input", path, "--json", "--webhook", address(receiver))
    seen = receiver.seen  # type: ignore[attr-defined]
    assert [answer for answer, _, _ in seen[:3]] == [500, 503, 204]
    arrived = [body["id"] for answer, _, body in seen if answer == 204]
    wanted = [line["id"] for line in lines[:-1] if line.get("alert") or line["what"] == "recovered"]
    assert arrived == wanted
    assert all(key == body["id"] for _, key, body in seen)
    assert lines[-1]["webhook"]["delivered"] == len(wanted)
    assert lines[-1]["webhook"]["undelivered"] == 0


def test_a_refused_alert_is_given_up_and_a_full_queue_drops_the_oldest(
    receiver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.answers += [400]  # type: ignore[attr-defined]
    hook = Webhook(address(receiver), most=2, first_pause=0.01)
    hook.send({"id": "1"})
    assert hook.close(patience=20) == []
    assert (hook.refused, hook.delivered) == (1, 0)
    with HTTPServer(("127.0.0.1", 0), Receiver) as gone:
        nobody = address(gone)
    hook = Webhook(nobody, most=2, first_pause=0.01)
    for number in range(4):
        hook.send({"id": str(number)})
    assert [alert["id"] for alert in hook.close(patience=0.2)] == ["2", "3"]
    assert hook.dropped == 2
    assert "cannot be reached" in capsys.readouterr().err


def watcher(folder: Path, path: Path, state: Path, told: list[str], **options: object) -> Watcher:
    model = CAPS.load(folder)
    return Watcher(
        lambda name: model, Lines(path), Records(model.fitted_.names), told.append,
        state=WatchState(state), **options,
    )  # fmt: skip


def test_alerts_that_did_not_arrive_are_sent_by_the_next_run(
    tmp_path: Path, folder: Path, receiver: HTTPServer
) -> None:
    path, state, told = tmp_path / "metrics.ndjson", tmp_path / "state", []
    path.write_text(ndjson(metrics()))
    with HTTPServer(("127.0.0.1", 0), Receiver) as gone:
        nobody = address(gone)
    first = watcher(folder, path, state, told, webhook=Webhook(nobody), recovery=5)
    first.webhook.close(patience=0)  # type: ignore[union-attr]
    first.run(lambda: False)
    pending = first.webhook.pending()  # type: ignore[union-attr]
    assert len(pending) >= 3
    again = watcher(folder, path, state, told, webhook=Webhook(address(receiver)))
    again.run(lambda: False)
    arrived = [body["id"] for _, _, body in receiver.seen]  # type: ignore[attr-defined]
    assert arrived == [alert["id"] for alert in pending]


def test_lines_that_a_kill_left_untold_are_told_by_the_next_run(
    tmp_path: Path, folder: Path, spans: list
) -> None:
    """The process dies between the save and the third line, and again at the fifth."""
    path, state = tmp_path / "metrics.ndjson", tmp_path / "state"
    path.write_text(ndjson(metrics()))
    told: list[str] = []

    class Killed(BaseException):
        pass

    for most in (2, 4, 1000):

        def tell(line: str, most: int = most) -> None:
            if len(told) >= most:
                raise Killed
            told.append(line)

        given = watcher(folder, path, state, told)
        given.tell = tell
        with pytest.raises(Killed) if most < 1000 else nullcontext():
            given.run(lambda: False)
    lines = [json.loads(line) for line in told]
    assert closed(lines) == spans
    assert len({line["id"] for line in lines}) == len(lines)


def test_a_replaced_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\nc")
    lines = Lines(path, follow=True)
    assert lines.read(0) == [b"a", b"b"]
    place = lines.place()
    (tmp_path / "new").write_bytes(b"d\n")
    os.replace(tmp_path / "new", path)
    assert lines.read(0) == []
    assert lines.read(0) == [b"d"]
    assert not Lines(path).go_on(place)
    ended = Lines(path)
    assert ended.read(0) == [b"d"]
    assert ended.read(0) == []
    assert ended.ended


def test_standard_input_tells_an_event_while_it_is_still_open(folder: Path) -> None:
    frame = metrics()[:772]
    process = subprocess.Popen(
        command(folder, "--input", "-"), stdin=-1, stdout=-1, stderr=-1, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(ndjson(frame))
    process.stdin.flush()
    lines = [json.loads(process.stdout.readline())]
    while lines[-1]["start_row"] < 755:
        lines.append(json.loads(process.stdout.readline()))
    assert lines[-1]["what"] == "opened"
    rest, errors = process.communicate(timeout=PATIENCE)
    assert json.loads(rest.splitlines()[0])["what"] == "closed"
    assert errors.startswith("772 rows")


def test_events_within_the_recovery_window_are_one_incident() -> None:
    incidents = Incidents(recovery=10)

    def change(what: str, start: int, end: int) -> bool:
        return incidents.begins(EventChange(what, 1, Event(start, end, start, 0.9), {}))

    assert change("opened", 5, 6)
    assert incidents.recovered(40) is None  # the event is still open
    assert not change("closed", 5, 30)
    assert incidents.recovered(39) is None
    assert not change("opened", 39, 40)
    assert not change("closed", 39, 41)
    restored = Incidents(recovery=10)
    restored.restore(incidents.facts())
    over = restored.recovered(51)
    assert over is not None
    assert (over.start, over.end, over.events) == (5, 41, 2)
    assert restored.recovered(60) is None
    assert restored.number == 1
