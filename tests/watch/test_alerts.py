"""Alerts: what they say, to whom, signed, and how Alertmanager is kept up to date."""

import hashlib
import hmac
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from small_servers import SmallAlertmanager, SmallServer, running

from caps.watch import Alertmanager, Chosen, Webhook, signature, slack
from caps.watch.alertmanager import RESEND, VALID
from patience import wait_until

START = "2024-05-01T12:20:00Z"
OPENED = {
    "what": "opened", "alert": True, "series": 'load{host="a"}', "labels": {"host": "a"},
    "source": "prometheus", "id": "load:1:opened", "ended_by": ["load:1:recovered"],
    "start": START, "end": START, "severity": "medium", "direction": "up", "size": 4.25,
    "kind": "point", "channels": ["value"], "score": 0.98, "reason": "Far above <normal>.",
}  # fmt: skip
RECOVERED = {
    **OPENED, "what": "recovered", "id": "load:1:recovered", "severity": "high",
    "end": "2024-05-01T12:25:00Z", "step_seconds": 60.0,
}  # fmt: skip


def sink(server: SmallAlertmanager, **options: float) -> Alertmanager:
    given = {"resend": 0.05, "settle": 0.0, "retain": 0.2, "first_pause": 0.01, **options}
    return Alertmanager(server.url, **given)  # type: ignore[arg-type]


def is_over(alert: dict) -> bool:
    return datetime.fromisoformat(alert["endsAt"]) <= datetime.now(UTC)


def test_alertmanager_gets_labels_annotations_start_and_end(
    alertmanager: SmallAlertmanager,
) -> None:
    table = sink(alertmanager)
    table.send(OPENED)
    wait_until(lambda: table.delivered == 1, "the beginning arrived")
    table.send(RECOVERED)
    wait_until(lambda: table.delivered == 2, "the end arrived")
    table.close(patience=20)
    first, last = alertmanager.alerts[0], alertmanager.alerts[-1]
    assert alertmanager.asked[0][0] == "/api/v2/alerts"
    labels = {
        "alertname": "CAPSAnomaly", "severity": "medium", "series": 'load{host="a"}',
        "source": "prometheus", "incident": START, "host": "a",
    }  # fmt: skip
    assert first["labels"] == last["labels"] == labels
    assert first["annotations"]["description"] == "Far above <normal>."
    said = {"direction": "up", "size": "4.25", "kind": "point", "channels": "value"}
    assert said.items() <= first["annotations"].items()
    assert last["annotations"]["severity"] == "high"
    assert first["startsAt"] == last["startsAt"] == "2024-05-01T12:20:00.000Z"
    assert not is_over(first)
    assert last["endsAt"] == "2024-05-01T12:26:00.000Z"  # its last row lasts a step


def test_what_is_open_is_sent_again_and_what_is_over_for_a_while(
    alertmanager: SmallAlertmanager,
) -> None:
    table = sink(alertmanager)
    table.send(OPENED)
    wait_until(lambda: len(alertmanager.alerts) >= 4, "it is sent again")
    assert not any(map(is_over, alertmanager.alerts))
    table.send(RECOVERED)
    wait_until(lambda: sum(map(is_over, alertmanager.alerts)) >= 2, "its end is sent again")
    wait_until(lambda: table.pending() == [], "it is forgotten")
    table.close(patience=0)


@pytest.mark.parametrize("resend", [0.05, 3600.0])
def test_alertmanager_does_not_resolve_by_itself_while_a_watch_starts_again(
    alertmanager: SmallAlertmanager, resend: float
) -> None:
    table, now = sink(alertmanager, resend=resend), datetime.now(UTC)
    table.send(OPENED)
    wait_until(lambda: table.delivered == 1, "the beginning arrived")
    table.close(patience=0)
    lasts = datetime.fromisoformat(alertmanager.alerts[0]["endsAt"]) - now
    assert lasts.total_seconds() >= VALID * max(resend, RESEND) - 1


def test_an_end_waits_until_its_beginning_has_settled(alertmanager: SmallAlertmanager) -> None:
    table = sink(alertmanager, settle=3600.0, resend=3600.0)
    table.kept = True
    table.send(OPENED)
    table.send(RECOVERED)
    wait_until(lambda: table.delivered == 1, "the beginning arrived")
    assert table.close(patience=0.2) == []  # nothing that could have been sent is left
    assert not any(map(is_over, alertmanager.alerts))
    assert [line["id"] for line in table.pending()] == ["load:1:opened", "load:1:recovered"]


def test_alerts_are_sent_until_alertmanager_answers(
    alertmanager: SmallAlertmanager, capsys: pytest.CaptureFixture[str]
) -> None:
    alertmanager.down = True
    table = sink(alertmanager)
    table.send(OPENED)
    wait_until(lambda: table.tries >= 2, "it is tried again")
    assert table.failing
    assert table.close(patience=0) == [OPENED]
    table = sink(alertmanager)
    table.send(OPENED)
    alertmanager.down = False
    wait_until(lambda: table.delivered == 1, "it arrived")
    assert not table.failing
    table.close(patience=20)
    assert "it answers 503" in capsys.readouterr().err


def test_an_end_that_arrived_is_noted_and_the_next_watch_knows_it_by_its_end_alone(
    alertmanager: SmallAlertmanager,
) -> None:
    noted: list[str] = []
    table = sink(alertmanager, retain=3600.0)
    table.arrived = noted.append
    table.send(OPENED)
    table.send(RECOVERED)
    wait_until(lambda: noted == ["load:1:recovered"], "the end arrived")
    table.close(patience=20)
    (left,) = table.pending()
    count = len(alertmanager.alerts)
    following = sink(alertmanager)
    following.send(left)
    wait_until(lambda: len(alertmanager.alerts) > count, "it is sent again")
    following.close(patience=20)
    again = alertmanager.alerts[count:]
    assert all(map(is_over, again))  # it never opens again
    assert again[0]["labels"] == alertmanager.alerts[0]["labels"]


def test_webhooks_are_signed_with_the_moment() -> None:
    with running(SmallServer()) as server:
        hook = Webhook(server.url, secret="s3cret")
        hook.send(OPENED)
        assert hook.close(patience=60) == []
        (_, headers, body), *_ = server.asked
    assert json.loads(body) == OPENED
    found = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers["caps-signature"])
    assert found is not None
    wanted = hmac.new(b"s3cret", f"{found[1]}.".encode() + body, hashlib.sha256).hexdigest()
    assert found[2] == wanted
    assert signature("other", body, int(found[1])) != headers["caps-signature"]
    told = datetime.fromtimestamp(int(found[1]), UTC)
    assert abs(datetime.now(UTC) - told) < timedelta(days=1)


def test_slack_gets_its_incoming_webhook_shape() -> None:
    with running(SmallServer()) as server:
        hook = Webhook(server.url, name="slack", shape=slack)
        hook.send(OPENED)
        hook.send(RECOVERED)
        assert hook.close(patience=60) == []
        opened, over = (json.loads(body)["text"] for _, _, body in server.asked)
    assert opened.splitlines() == [
        '*medium: anomaly* in `load{host="a"}`',
        "Far above &lt;normal&gt;.",
        f"since {START}",
    ]
    assert over.splitlines()[-1] == f"{START} to 2024-05-01T12:25:00Z"


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (Chosen(), ["opened", "recovered"]),
        (Chosen("medium"), ["opened", "recovered"]),
        (Chosen("high"), ["risen", "recovered"]),
        (Chosen("high", "cpu*"), []),
    ],
)
def test_an_incident_is_told_once_when_it_reaches_the_severity(
    choice: Chosen, wanted: list[str]
) -> None:
    risen = {**OPENED, "what": "risen", "was": "medium", "severity": "high"}
    assert [line["what"] for line in (OPENED, risen, RECOVERED) if choice(line)] == wanted


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    for kind in (Webhook, Alertmanager):
        with pytest.raises(ValueError, match="http"):
            kind("localhost:9093")
