"""Requests that must not get through, and what they are told."""

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from running_service import broken_table, csv_of, listening, settings

from caps import InputError
from caps.serve import Settings
from patience import PATIENCE

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Iterator[str]:
    """A service with a token and small limits."""
    chosen = settings(
        tmp_path_factory.mktemp("guarded"), weights, token=TOKEN, upload_bytes=200_000,
        body_bytes=20_000, rows=5_000, columns=20,
    )  # fmt: skip
    with listening(chosen) as address:
        yield address


@pytest.fixture
def known(guarded: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=guarded, headers=headers, timeout=PATIENCE) as client:
        yield client


def raw(address: str, request: bytes) -> str:
    """What the service answers to these very bytes."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer.decode()


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic YTpi", f"Bearer {TOKEN}x", "é"])
def test_every_other_token_is_refused(guarded: str, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.encode()}
    for path in ("/v1/models", "/v1/series", "/metrics", "/openapi.json"):
        answer = httpx.get(guarded + path, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 401
        assert "Bearer" in answer.json()["remedy"]
    assert httpx.get(guarded + "/health", timeout=PATIENCE).status_code == 200


def test_the_right_token_is_let_in(known: httpx.Client) -> None:
    assert known.get("/v1/models").json() == []
    schema = known.get("/openapi.json").json()
    assert schema["paths"]["/v1/models"]["get"]["security"] == [{"token": []}]


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"host": "0.0.0.0"}, "give a token"),
        ({"host": "example.org"}, "give a token"),
        ({"token": "short"}, "at least"),
        ({"token": "ein Schlüssel für alle"}, "ASCII"),
        ({"port": 70_000}, "65535"),
    ],
)
def test_an_open_or_odd_service_is_not_started(
    tmp_path: Path, options: dict[str, object], remedy: str
) -> None:
    with pytest.raises(InputError, match=remedy):
        Settings(tmp_path, **options)
    assert Settings(tmp_path, host="0.0.0.0", token=TOKEN).token


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", ".hidden", "a%00b", "a%0a"],
)
def test_names_cannot_leave_the_directory(known: httpx.Client, name: str) -> None:
    for kind in ("models", "series"):
        parts = urlsplit(str(known.base_url))
        head = f"/v1/{kind}/{name} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n"
        token = f"Authorization: Bearer {TOKEN}\r\n\r\n"
        for method in ("GET", "DELETE"):
            answer = raw(str(known.base_url), f"{method} {head}{token}".encode())
            assert answer.split()[1] in {"404", "405", "422"}, answer
    answer = known.post("/v1/series", params={"name": "../evil"}, content=b"a\n1\n2\n")
    assert answer.status_code == 422


def test_a_body_that_is_too_long_is_refused_before_it_is_read(known: httpx.Client) -> None:
    answer = known.post("/v1/series?name=big", content=b"a\n" + b"1\n" * 150_000)
    assert answer.status_code == 413
    assert "0.2 MB" in answer.json()["problem"]

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"1.0,2.0\n" * 1000

    try:
        answer = known.post("/v1/series?name=big", content=endless())
        assert answer.status_code == 413
    except httpx.WriteError:  # the service had answered and closed before all was sent
        pass
    answer = known.put("/v1/models/big", content=b"{" + b" " * 30_000)
    assert answer.status_code == 413


def test_a_packed_body_is_unpacked_but_not_without_end(known: httpx.Client) -> None:
    packed = {"Content-Encoding": "gzip"}
    good = gzip.compress(csv_of(broken_table(300)))
    answer = known.post("/v1/series?name=packed", content=good, headers=packed)
    assert answer.status_code == 201
    assert answer.json()["rows"] == 300
    bomb = gzip.compress(b"0\n" * 50_000_000, 9)
    assert len(bomb) < 200_000
    answer = known.post("/v1/series?name=bomb", content=bomb, headers=packed)
    assert answer.status_code == 413
    bomb = gzip.compress(b"[" * 10_000_000)
    answer = known.put("/v1/models/bomb", content=bomb, headers=packed)
    assert answer.status_code == 413
    cut = known.post("/v1/series?name=cut", content=good[:-20], headers=packed)
    assert cut.status_code == 400
    assert "cut off" in cut.json()["problem"]
    answer = known.post("/v1/series?name=odd", content=b"not gzip", headers=packed)
    assert answer.status_code == 400
    other = {"Content-Encoding": "br"}
    assert known.post("/v1/series?name=odd", content=good, headers=other).status_code == 415
    assert [each["name"] for each in known.get("/v1/series").json()] == ["packed"]
    assert known.delete("/v1/series/packed").status_code == 204


def test_a_body_of_several_gzip_members_is_read_whole(known: httpx.Client) -> None:
    text = csv_of(broken_table(300))
    middle = text.index(b"\n", len(text) // 2) + 1
    parts = [gzip.compress(text[:middle]), gzip.compress(b""), gzip.compress(text[middle:])]
    packed = {"Content-Encoding": "gzip"}
    for content in (b"".join(parts), b"".join(parts) + b"\0" * 512, iter(parts)):
        answer = known.post("/v1/series?name=parts", content=content, headers=packed)
        assert answer.status_code == 201, answer.text
        assert answer.json()["rows"] == 300
        assert known.delete("/v1/series/parts").status_code == 204
    cut = known.post("/v1/series?name=parts", content=b"".join(parts)[:-9], headers=packed)
    assert "cut off" in cut.json()["problem"]
    odd = known.post("/v1/series?name=parts", content=parts[0] + b"and more", headers=packed)
    assert "no gzip" in odd.json()["problem"]
    bombs = gzip.compress(b"0\n" * 60_000) * 2
    answer = known.post("/v1/series?name=parts", content=bombs, headers=packed)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        (b"", 422, "empty"),
        (b"\x1f\x8b\x08\x00", 415, "Content-Encoding"),
        (b"PAR1 and so on", 415, "CSV"),
        (b"PK\x03\x04\0\0\0\0", 422, "CSV"),
        (b"a,b\n1,x\n2,3\n", 422, "number"),
        ((",".join("abcdefghijklmnopqrstuvwxyz") + "\n").encode(), 413, "columns"),
        (b"a\n" + b"1\n" * 6_000, 413, "rows"),
        (b"time,a\n2024-01-02,1\n2024-01-01,2\n2024-01-03,3\n", 422, "sort"),
        (b"\xff\xfe\x00\x01", 422, "encoding"),
    ],
    ids=["empty", "gzip", "parquet", "zip", "text", "wide", "long", "unsorted", "utf-16"],
)
def test_files_that_cannot_be_used_say_why(
    known: httpx.Client, content: bytes, status: int, expected: str
) -> None:
    answer = known.post("/v1/series?name=odd&file=odd.csv", content=content)
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert expected in f"{problem['problem']} {problem['remedy']}"
    assert "/data.csv" not in problem["problem"]
    assert known.get("/v1/series").json() == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"series": 5}', b'{"series": "a", "odd": 1}', b"[" * 5_000],
    ids=repr,
)
def test_malformed_requests_are_refused(known: httpx.Client, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = known.put("/v1/models/a", content=content[:60_000], headers=headers)
    assert answer.status_code in {400, 422}
    assert set(answer.json()) == {"problem", "remedy"}


def test_a_client_that_never_sends_its_body_is_let_go(tmp_path: Path, weights: Path) -> None:
    with listening(settings(tmp_path, weights, body_seconds=0.5)) as address:
        head = f"POST /v1/series?name=slow HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n"
        answer = raw(address, f"{head}Content-Length: 100\r\n\r\na".encode())
        assert " 408 " in answer
        assert httpx.get(address + "/health", timeout=PATIENCE).status_code == 200


def test_other_sites_cannot_use_the_readers_browser(client: httpx.Client) -> None:
    rebound = client.get("/v1/models", headers={"Host": "evil.example"})
    assert rebound.status_code == 421
    foreign = client.post(
        "/v1/series?name=a", content=b"a\n1\n2\n", headers={"Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    assert client.get("/v1/models", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    own = str(client.base_url).rstrip("/")
    assert client.get("/v1/models", headers={"Origin": own}).status_code == 200


def test_the_page_may_load_nothing_from_elsewhere(client: httpx.Client) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "http" not in policy
    for name in ("palette.css", "page.css", "plotly.js", "main.js", "icon.svg"):
        assert client.get(f"/static/{name}").status_code == 200
    assert client.get("/static/..%2fapp.py").status_code == 404


def test_the_description_is_openapi_with_a_problem_for_every_refusal(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()
    score = schema["paths"]["/v1/models/{name}/score"]["post"]["responses"]
    assert {"200", "404", "413", "422", "429", "503"} <= set(score)
    assert json.dumps(score["429"]).count("Problem") == 1


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PATCH", "/v1/models/a", "DELETE, GET, PUT"), ("PUT", "/v1/series", "GET, POST")],
)
def test_a_method_that_is_not_there_is_told_the_others(
    client: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    assert allowed in answer.json()["remedy"]
