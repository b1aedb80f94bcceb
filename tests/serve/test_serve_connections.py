"""Clients that never get to a request, on real sockets."""

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from running_service import listening, settings

from patience import PATIENCE

HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def connected(address: str, first: bytes) -> socket.socket:
    parts = urlsplit(address)
    client = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    client.sendall(first)
    return client


def rest(client: socket.socket) -> bytes:
    """What comes until the service closes the connection."""
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize(
    ("first", "answer"),
    [(HALF, b" 408 "), (b"", b""), (WHOLE + HALF, b" 408 ")],
    ids=["half a head", "nothing", "the second request"],
)
def test_who_never_ends_the_head_of_a_request_is_let_go(
    tmp_path: Path, first: bytes, answer: bytes
) -> None:
    chosen = settings(tmp_path, tmp_path, head_seconds=0.2)
    with listening(chosen) as address, connected(address, first) as client:
        assert answer in rest(client)


def test_bytes_do_not_buy_time(tmp_path: Path) -> None:
    chosen = settings(tmp_path, tmp_path, head_seconds=0.2)
    with listening(chosen) as address, connected(address, HALF) as client:
        client.settimeout(0.02)
        for _ in range(3000):
            try:
                client.sendall(b"x")
                assert b" 408 " in client.recv(1000)
                return
            except TimeoutError:
                continue
            except ConnectionError:  # closed between the two
                return
        pytest.fail("the service waited on and on")


def test_half_sent_heads_do_not_keep_others_out(tmp_path: Path) -> None:
    chosen = settings(tmp_path, tmp_path, head_seconds=600, waiting_connections=20)
    with (
        listening(chosen) as address,
        ExitStack() as stack,
        httpx.Client(base_url=address, timeout=PATIENCE) as client,
    ):
        assert client.get("/health").status_code == 200  # and its connection is kept
        slow = [stack.enter_context(connected(address, HALF)) for _ in range(100)]
        for _ in range(3):
            assert httpx.get(f"{address}/health", timeout=PATIENCE).status_code == 200
            assert client.get("/health").status_code == 200
        # The first to have come had to go, without an end of their head.
        assert rest(slow[0]) == b""


def test_a_refusal_reaches_who_still_sends_the_body(tmp_path: Path) -> None:
    chosen = settings(tmp_path, tmp_path, token="a-token-of-some-length")
    with listening(chosen) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        for _ in range(3):
            answer = client.post("/v1/series?name=a", content=b"1\n" * 2_000_000)
            assert answer.status_code == 401
