"""`caps watch` on files, standard input and a web server: events, alerts, kill and restore."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mutated_input import check, mutated, rows, watched, written

from caps import CAPS
from caps.cli.main import main
from caps.errors import InputError
from caps.scoring.spans import EventRules
from caps.stream.tracker import EventChange, EventTracker
from caps.watch import (
    Incidents,
    Lines,
    LineSource,
    Records,
    WatchConfig,
    Watcher,
    WatchState,
    Webhook,
)
from caps.watch.following import BLOCK, LONGEST
from caps.watch.remarks import Silence
from patience import PATIENCE
from untrained_weights import noisy_wave

ROWS, TRAIN = 1100, 700


def metrics() -> pd.DataFrame:
    time = pd.date_range("2024-05-01", periods=ROWS, freq="min")
    load = noisy_wave(ROWS)
    load[760:775] += 6
    load[790] += 9
    load[950:960] -= 6
    return pd.DataFrame({"time": time, "load": load}).drop(index=range(850, 870))


def unseen() -> pd.DataFrame:
    """The rows after training: those a stream is given."""
    return metrics().iloc[TRAIN:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = CAPS(train=TRAIN, causal=True, alarms="1/300", rules=EventRules(merge_gap=6))
    saved = tmp_path_factory.mktemp("model") / "model"
    model.fit(metrics()).save(saved)
    return saved


@pytest.fixture(scope="module")
def spans(folder: Path) -> list[tuple[int, int]]:
    """The events of the batch, in rows of the grid."""
    return [(event.start, event.end) for event in CAPS.load(folder).analyze(unseen()).spans]


def disturbed(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows up to 4 steps late, some twice; a stream begins with the first."""
    rng = np.random.default_rng(0)
    late = rng.integers(0, 5, len(frame))
    late[0] = 0
    order = np.argsort(frame.index.to_numpy() + late, kind="stable")
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
    assert "Traceback" not in shown.err
    return [*map(json.loads, shown.out.splitlines()), *([{"": shown.err}] if code else [])]


def closed(lines: list[dict]) -> list[tuple[int, int]]:
    return [(line["start_row"], line["end_row"]) for line in lines if line["what"] == "closed"]


def test_a_file_gives_the_events_of_the_batch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, spans: list
) -> None:
    path = tmp_path / "metrics.csv"
    disturbed(unseen()).to_csv(path, index=False)
    lines = run(capsys, folder, "--input", path, "--lateness", 4, "--recovery", 40, "--json")
    assert closed(lines) == spans
    assert len(spans) >= 3
    summary = lines[-1]
    assert summary["what"] == "summary"
    assert summary["rows"] == len(unseen())
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
        ("ts,load\n1,2\n", ("--recovery=-1",), "give 0"),
        ("ts,load\n1,2\n", ("--recovery", "soon"), "such as 6h"),
        ("ts,load,load\n1,2,3\n", (), "two columns 'load'"),
        ("ts,lo\rad\n1,2\n", (), "channels of the model"),
    ],
)
def test_unusable_input_names_the_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, text: str,
    arguments: tuple[str, ...], remedy: str,
) -> None:  # fmt: skip
    path = tmp_path / "metrics.csv"
    path.write_text(text + "2024-05-01,1\n")
    assert remedy in run(capsys, folder, "--input", path, *arguments, code=2)[-1][""]


def test_several_series_by_id_have_streams_of_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, spans: list
) -> None:
    frame = unseen()
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
    text = disturbed(unseen()).to_csv(index=False).splitlines(keepends=True)
    path, out = tmp_path / "metrics.csv", tmp_path / "lines.ndjson"
    path.write_text("")
    arguments = ("--input", path, "--follow", "--lateness", 4, "--state", tmp_path / "state")
    written = 0
    for upto, end in ((70, signal.SIGKILL), (265, signal.SIGTERM), (len(text), signal.SIGTERM)):
        with path.open("a") as growing:
            growing.write("".join(text[written:upto]))
            growing.write(text[upto][:9] if upto < len(text) else "")  # a line half written
        with out.open("a") as printed:
            process = subprocess.Popen(
                command(folder, *arguments, "--save-every", "0.2"), stdout=printed, stderr=-1
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
                if (
                    json.loads(manifest.read_text())["extra"]["sources"]["input"]["position"][
                        "offset"
                    ]
                    >= offset
                ):
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
        time.sleep(self.server.pause)  # type: ignore[attr-defined]
        self.send_response(answer)
        if 300 <= answer < 400:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.got.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.answers, server.seen, server.got = [], [], []  # type: ignore[attr-defined]
    server.pause = 0  # type: ignore[attr-defined]
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


def watcher(
    folder: Path, path: Path, state: Path, printed: list[str], **options: object
) -> Watcher:
    model = CAPS.load(folder)
    return Watcher(
        lambda name: model, [LineSource(Lines(path), Records(model.fitted_.names))],
        printed.append, state=WatchState(state), **options,
    )  # fmt: skip


def test_alerts_that_did_not_arrive_are_sent_by_the_next_run(
    tmp_path: Path, folder: Path, receiver: HTTPServer
) -> None:
    path, state, printed = tmp_path / "metrics.ndjson", tmp_path / "state", []
    path.write_text(ndjson(metrics()))
    with HTTPServer(("127.0.0.1", 0), Receiver) as gone:
        nobody = address(gone)
    hook = Webhook(nobody)
    first = watcher(folder, path, state, printed, sinks=[hook], config=WatchConfig(recovery=5))
    hook.close(patience=0)
    first.run(lambda: False)
    pending = hook.pending()
    assert len(pending) >= 3
    again = watcher(folder, path, state, printed, sinks=[Webhook(address(receiver))])
    again.run(lambda: False)
    arrived = [body["id"] for _, _, body in receiver.seen]  # type: ignore[attr-defined]
    assert arrived == [alert["id"] for alert in pending]


def test_lines_that_a_kill_left_untold_are_told_by_the_next_run(
    tmp_path: Path, folder: Path, spans: list
) -> None:
    """The process dies between the save and the third line, and again at the fifth."""
    path, state = tmp_path / "metrics.ndjson", tmp_path / "state"
    path.write_text(ndjson(unseen()))
    printed: list[str] = []

    class Killed(BaseException):
        pass

    for most in (2, 4, 1000):

        def tell(line: str, most: int = most) -> None:
            if len(printed) >= most:
                raise Killed
            printed.append(line)

        given = watcher(folder, path, state, printed)
        given.teller.show = tell
        with pytest.raises(Killed) if most < 1000 else nullcontext():
            given.run(lambda: False)
    lines = [json.loads(line) for line in printed]
    assert closed(lines) == spans
    assert len({line["id"] for line in lines}) == len(lines)


def test_a_replaced_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\nc")
    lines = Lines(path, follow=True)
    assert lines.read(0) == [b"a", b"b"]
    position = lines.position()
    (tmp_path / "new").write_bytes(b"d\n")
    os.replace(tmp_path / "new", path)
    assert lines.read(0) == [b"c"]  # nobody will end this line
    assert lines.restarts == 1
    assert lines.read(0) == [b"d"]
    path.write_bytes(b"")
    assert lines.read(0) == []
    path.write_bytes(b"e\n")
    assert lines.read(0) == [b"e"]
    assert lines.restarts == 2
    path.write_bytes(b"d\n")
    assert not Lines(path).go_on(position)
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


def change(what: str, start: int, end: int, channel: str = "load") -> EventChange:
    return EventChange(
        1, start, end, start, 0.9, contributions={channel: 0.9, "other": 0.1}, what=what
    )


def test_events_within_the_chosen_recovery_are_one_incident() -> None:
    incidents = Incidents(recovery=10)
    assert incidents.begins(change("opened", 5, 6))
    assert incidents.recovered(40) is None  # the event is still open
    assert not incidents.begins(change("closed", 5, 30))
    assert incidents.recovered(39) is None
    assert incidents.ended_by(change("opened", 39, 40)) is None
    assert not incidents.begins(change("opened", 39, 40))
    assert not incidents.begins(change("closed", 39, 41))
    restored = Incidents(recovery=10)
    restored.restore(json.loads(json.dumps(incidents.facts())))
    over = restored.recovered(51)
    assert over is not None
    assert (over.start, over.end, over.events) == (5, 41, 2)
    assert restored.recovered(60) is None
    assert restored.number == 1


def test_an_event_led_by_another_channel_is_a_new_incident() -> None:
    incidents = Incidents(recovery=100)
    incidents.begins(change("opened", 5, 6))
    incidents.begins(change("closed", 5, 8))
    over = incidents.ended_by(change("opened", 20, 21, "heat"))
    assert over is not None
    assert (over.start, over.end) == (5, 8)
    assert incidents.begins(change("opened", 20, 21, "heat"))


def test_by_default_every_event_is_an_incident_that_ends_after_a_quiet_of_its_length() -> None:
    incidents = Incidents()
    assert incidents.begins(change("opened", 5, 6))
    assert not incidents.begins(change("closed", 5, 25))
    assert incidents.recovered(44) is None
    again = change("opened", 40, 41)  # while the first recovers
    over = incidents.ended_by(again)
    assert over is not None
    assert (over.number, over.end) == (1, 25)
    assert incidents.begins(again)
    assert not incidents.begins(change("closed", 40, 43))
    assert incidents.recovered(45) is None
    assert incidents.recovered(46) is not None
    assert incidents.number == 2


def test_seven_anomalies_in_twelve_days_are_seven_alerts() -> None:
    """Twelve days of hours are 288 rows, with three odd ones in every 41."""
    incidents, tracker, alerts, over = (
        Incidents(),
        EventTracker(0.5, EventRules(merge_gap=32), ("load",)),
        0,
        0,
    )
    for row in range(288):
        score = 0.9 if row % 41 in (12, 13, 14) else 0.1
        for each in tracker.feed(row, None, score, 0.01, np.ones(1)):
            over += incidents.ended_by(each) is not None
            alerts += incidents.begins(each)
        over += incidents.recovered(row + 1) is not None
    assert (alerts, over) == (7, 6)  # the last one has not recovered yet


def test_by_default_every_event_is_an_alert_and_times_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, spans: list
) -> None:
    path = tmp_path / "metrics.csv"
    unseen().to_csv(path, index=False)
    lines = run(capsys, folder, "--input", path, "--json")
    opened = [line for line in lines if line["what"] == "opened"]
    over = [line for line in lines if line["what"] == "recovered"]
    assert len(opened) == lines[-1]["incidents"] == len(spans)
    assert all(line["alert"] for line in opened)
    assert len(over) >= len(spans) - 1
    assert all(line["quiet"].split()[1] in ("min", "h") for line in over)


def test_a_recovery_may_be_a_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "metrics.csv"
    metrics().to_csv(path, index=False)
    rows, minutes = (
        run(capsys, folder, "--input", path, "--recovery", recovery) for recovery in ("40", "40min")
    )
    assert rows == minutes


# Wrong lines: each is counted, told and skipped, and the rows around it are read.

NESTED = "[" * 100_000 + "]" * 100_000
BAD_NDJSON = [
    '{"ts": "2024-05-01T00:01", "load": 1',
    '"ts": "2024-05-01T00:01", "load": 1}',
    '{"ts": "2024-05-01T00:01"}',
    '{"ts": "2024-05-01T00:01", "laod": 5}',
    '{"load": 5}',
    '{"ts": "1600-01-01", "load": 5}',
    '{"ts": "9999-12-31", "load": 5}',
    '{"ts": "0001-01-01T00:00:00+14:00", "load": 5}',
    '{"ts": "2024-05-01T00:01", "load": ' + "1" * 400 + "}",
    '{"ts": "2024-05-01T00:01", "load": ' + "1" * 5000 + "}",
    '{"ts": ' + "1" * 400 + ', "load": 5}',
    '{"ts": "2024-05-01T00:01", "load": ' + NESTED + "}",
    '{"ts": "2024-05-01T00:01", "load": {"a": 1}}',
    '{"ts": ["2024"], "load": 5}',
    '{"ts": "2024-05-01T00:01", "load": true}',
    '{"ts": "2024-05-01T00:01", "load": "high"}',
    "[1, 2]",
    "7",
    "\x00\x01",
    '{"ts": "2024-05-01T00:01", "load": 5, "x": "' + "y" * LONGEST + '"}',
]
BAD_CSV = [
    "2024-05-01T00:01,5\r7",
    "2024-05-01T00:01,5\r,7",
    "1600-01-01,5",
    "9999-12-31,5",
    "2024-05-01T00:01," + "1" * 400,
    "1" * 400 + ",5",
    "2024-05-01T00:01,5,6",
    "2024-05-01T00:01",
    ",5",
    "2024-05-01T00:01,high",
    '2024-05-01T00:01,"5',
    "2024-05-01T00:01," + "y" * 200_000,
]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("bad", BAD_NDJSON, ids=lambda bad: bad[:40])
def test_a_bad_line_of_ndjson_is_counted_told_and_skipped(bad: str, index: int) -> None:
    complaints: list[str] = []
    good = [f'{{"ts": "2024-05-01T00:0{k}", "load": {k}}}' for k in range(3)]
    if not (bad.startswith("{") or bad.endswith("}")):
        index = 1  # as a first line it would be a header, and refused as one
    records = Records(["load"])
    records.complain = complaints.append
    found = records.parse([line.encode() for line in [*good[:index], bad, *good[index:]]])
    assert [record.values for record in found] == [[0.0], [1.0], [2.0]]
    assert (records.malformed, len(complaints)) == (1, 1)


@pytest.mark.parametrize("bad", BAD_CSV, ids=lambda bad: bad[:30])
def test_a_bad_line_of_csv_is_counted_told_and_skipped(bad: str) -> None:
    complaints: list[str] = []
    records = Records(["load"])
    records.complain = complaints.append
    lines = ["ts,load", "2024-05-01T00:00,0", bad, "2024-05-01T00:02,2"]
    found = records.parse([line.encode() for line in lines])
    assert [record.values for record in found] == [[0.0], [2.0]]
    assert (records.malformed, len(complaints)) == (1, 1)


def test_a_row_without_its_id_is_malformed() -> None:
    records = Records(["load"], series="host")
    lines = ['{"ts": 1700000000, "load": 1, "host": "a"}', '{"ts": 1700000060, "load": 1}']
    assert [record.series for record in records.parse([line.encode() for line in lines])] == ["a"]
    assert records.malformed == 1


def test_a_line_without_end_is_skipped_and_the_place_stays_right(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n" + b"x" * (2 * LONGEST) + b"\nb\n")
    lines, found = Lines(path), []
    while not lines.ended:
        found += lines.read(0)
    assert [line[:1] for line in found] == [b"a", b"x", b"b"]
    assert LONGEST < len(found[1]) <= LONGEST + BLOCK + 1
    assert lines.position()["offset"] == path.stat().st_size


def test_a_replaced_file_is_read_by_its_own_header() -> None:
    records = Records(["load", "heat"])

    def parse(text: str) -> list[list[float]]:
        found = records.parse([line.encode() for line in text.splitlines()])
        return [record.values for record in found]

    assert parse("ts,load,heat\n2024-05-01,1,2") == [[1, 2]]
    records.begin_again()
    assert parse("heat;extra;load;time\n20;x;10;2024-05-02") == [[10, 20]]
    records.begin_again()  # emptied, and written on without a header
    assert parse("21;x;11;2024-05-03") == [[11, 21]]
    assert parse("time;load;heat;extra\n2024-05-03;12;22;x") == [[12, 22]]  # files put together
    records.begin_again()
    again = Records(["load", "heat"])
    again.restore(json.loads(json.dumps(records.layout())))
    records = again
    assert parse("time;laod;heat;extra\n2024-05-04;13;23;x") == []  # renamed: no guessing
    assert records.malformed == 2
    assert parse("time;load;heat\n2024-05-05;14;24") == [[14, 24]]
    assert parse("time;load\n2024-05-06;15\n2024-05-06;15;25") == []
    records.begin_again()
    assert parse('{"time": "2024-05-07", "heat": 26, "load": 16}') == [[16, 26]]


def test_mutated_inputs_are_read_to_their_end_and_every_line_is_accounted_for(
    tmp_path: Path, folder: Path
) -> None:
    model = CAPS.load(folder)
    for number in range(40):
        rng = random.Random(f"1 {number}")
        data = mutated(rng, written(rng, rows(rng, 12)))
        work = tmp_path / str(number)
        work.mkdir()
        check(watched(model, rng, data, work))


def test_a_renamed_metric_is_told_and_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "metrics.ndjson"
    path.write_text(ndjson(metrics()[:20]).replace("load", "laod"))
    *_, errors = run(capsys, folder, "--input", path, code=1)
    assert "20 malformed lines" not in errors[""]
    assert "it has none of the channels load" in errors[""]
    assert "none of 20 lines could be scored" in errors[""]
    path.write_text(
        ndjson(metrics()[:20]) + ndjson(metrics()[20:150]).replace('load"', 'load":null,"x"')
    )
    lines = run(capsys, folder, "--input", path, "--json")
    assert lines[-1]["silent"] == {"": ["load"]}


def test_a_channel_that_falls_silent_is_told_once() -> None:
    silence = Silence(["a", "b"])
    rows = np.array([[1.0, 1.0]] + [[1.0, np.nan]] * 60)
    assert silence.take(rows) == []
    assert silence.silent() == []
    assert silence.take(rows[1:]) == ["b"]
    assert silence.take(rows[1:]) == []
    assert silence.silent() == ["b"]
    assert silence.take(rows) == []
    assert silence.silent() == []


def test_wrong_times_do_not_end_a_watch_nor_its_restart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    rows = ndjson(metrics()[:30]).splitlines(keepends=True)
    wrong = ['{"ts": "9999-12-31", "load": 5}\n', '{"ts": "2093-01-01", "load": 5}\n']
    path = tmp_path / "metrics.ndjson"
    path.write_text("".join([*rows[:10], *wrong, *rows[10:20], wrong[1]]))
    arguments = (folder, "--input", path, "--state", tmp_path / "state", "--json")
    summary = run(capsys, *arguments)[-1]
    assert (summary["rows"], summary["malformed"], summary["ahead"]) == (20, 1, 1)
    assert (summary["late"], summary["held"]) == (0, 1)
    with path.open("a") as growing:
        growing.write("".join(rows[20:]))
    main_errors = run(capsys, *arguments)[-1]
    assert (main_errors["rows"], main_errors["ahead"], main_errors["held"]) == (30, 2, 0)


def test_rows_that_are_refused_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    rows = ndjson(metrics()[:30]).splitlines(keepends=True)
    path = tmp_path / "metrics.ndjson"
    ahead = '{"ts": "2093-01-01", "load": 5}\n'
    path.write_text("".join([*rows[:5], *rows[8:20], rows[6], rows[19], ahead, *rows[20:]]))
    model, complaints = CAPS.load(folder), []
    source = LineSource(Lines(path), Records(["load"]))
    given = Watcher(lambda name: model, [source], print)
    given.remarks.say = complaints.append  # type: ignore[method-assign]
    given.run(lambda: False)
    kinds = [text.partition(":")[0] for text in complaints]
    assert kinds == [
        "1 rows refused as too late",
        "1 rows refused as repeated",
        "1 rows refused as far ahead",
    ]
    assert all("2024-05-01T00:" in text for text in complaints)


def test_a_model_of_other_channels_than_the_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metrics.ndjson"
    path.write_text(ndjson(metrics()[:30]))
    other = CAPS(train=TRAIN, causal=True).fit(metrics().rename(columns={"load": "cpu"}))
    watcher = Watcher(lambda name: other, [LineSource(Lines(path), Records(["load"]))], print)
    with pytest.raises(InputError, match="has the channels cpu, its source gives load"):
        watcher.run(lambda: False)


def test_a_second_watch_on_one_state_refuses(tmp_path: Path) -> None:
    first = WatchState(tmp_path / "state")
    with pytest.raises(InputError, match="another watch"):
        WatchState(tmp_path / "state")
    first.release()
    second = WatchState(tmp_path / "state")
    killed = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "other"], stdout=subprocess.PIPE
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"held\n"
    with pytest.raises(InputError, match="another watch"):
        WatchState(tmp_path / "other")
    killed.kill()
    killed.communicate()
    WatchState(tmp_path / "other").release()
    second.release()


HOLD = """
import sys, pathlib
from caps.watch.state import WatchState
state = WatchState(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
import time; time.sleep(600)
"""


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_the_alert_is_kept(
    receiver: HTTPServer, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    receiver.answers += [code] * 50  # type: ignore[attr-defined]
    hook = Webhook(address(receiver), first_pause=0.01)
    hook.send({"id": "1"})
    while len(receiver.seen) < 2:  # type: ignore[attr-defined]
        time.sleep(0.005)
    assert [alert["id"] for alert in hook.close(patience=0)] == ["1"]
    assert hook.delivered == 0
    assert "/elsewhere" in capsys.readouterr().err
    assert receiver.got == []  # type: ignore[attr-defined]


def test_an_answer_that_trickles_in_is_cut_off_and_sends_do_not_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One byte of the answer now and then would keep a time-out of the socket from ever ending."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while not ended.wait(0.02):
                    connection.sendall(b"H")

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        hook = Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.3)
        for number in range(50):
            hook.send({"id": str(number)})
        while hook.tries == 0:
            time.sleep(0.005)
        assert len(hook.close(patience=0)) == 50
        ended.set()
        thread.join()
    assert "did not answer within 0.3 s" in capsys.readouterr().err


def test_a_slow_receiver_gets_all_alerts_in_order_after_the_end(receiver: HTTPServer) -> None:
    """As long as alerts arrive, the end waits for the rest: patience is for each of them."""
    receiver.pause = 0.02  # type: ignore[attr-defined]
    hook = Webhook(address(receiver))
    for number in range(40):
        hook.send({"id": str(number)})
    assert hook.close(patience=30) == []
    arrived = [body["id"] for _, _, body in receiver.seen]  # type: ignore[attr-defined]
    assert arrived == [str(number) for number in range(40)]


def test_alerts_that_did_not_arrive_end_with_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, receiver: HTTPServer
) -> None:
    receiver.answers += [400] * 50  # type: ignore[attr-defined]
    path = tmp_path / "metrics.ndjson"
    path.write_text(ndjson(metrics()[700:800]))
    *_, errors = run(capsys, folder, "--input", path, "--webhook", address(receiver), code=1)
    assert "not all alerts arrived" in errors[""]
    assert "refused" in errors[""]


def test_an_id_of_any_letters_is_sent(receiver: HTTPServer) -> None:
    hook = Webhook(address(receiver), first_pause=0.01)
    hook.send({"id": "a\r\nX-Other: 1\ud800ä"})
    assert hook.close(patience=30) == []
    assert hook.delivered == 1
