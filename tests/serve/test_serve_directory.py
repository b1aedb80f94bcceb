"""One service to a directory; strays, links, damaged entries and a full disk do little harm."""

import errno
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_service import Client, answering, broken_table, csv_of, settings

from caps import InputError
from caps.serve import child, series_routes
from caps.serve.claim import LOCK, claimed
from caps.serve.files import ModelFolder
from caps.serve.run import listener, run_service

REQUEST = {"series": "pump", "alarms": "1/day", "known": []}
FACTS = {"channels": ["a"], "train": [0, 9], "notes": [], "seconds": 1.0}
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "service"


@pytest.fixture
def served(directory: Path) -> Iterator[Client]:
    with answering(directory) as client:
        yield client


def fitted(directory: Path, name: str) -> Path:
    """The folder of a model with a finished fit."""
    models = ModelFolder(directory / "models", most=50)
    models.root.mkdir(parents=True, exist_ok=True)
    out = models.begin(name, REQUEST)
    out.mkdir()
    (out / "facts.json").write_text(json.dumps(FACTS))
    models.commit(name)
    return out.parent


def everything(folder: Path) -> dict[str, str | None]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in folder.rglob("*")
    }


def unfinished(directory: Path) -> None:
    """An upload and a fit on their way."""
    (directory / "series" / ".new-upload").mkdir(parents=True)
    (directory / "series" / ".new-upload" / "data.csv").write_text("a\n1\n")
    models = ModelFolder(directory / "models", most=50)
    models.root.mkdir(exist_ok=True)
    begun = models.begin("begun", REQUEST)
    begun.with_name(f".new-{begun.name}").mkdir()


def test_a_second_service_on_a_directory_refuses_and_touches_nothing(
    served: Client, directory: Path
) -> None:
    unfinished(directory)
    before = everything(directory)
    with pytest.raises(InputError, match=f"another service.*process {os.getpid()}"):
        run_service(settings(directory, directory, port=0), announce=pytest.fail)
    assert everything(directory) == before
    assert served.get("/ready").status_code == 200


def test_a_service_that_cannot_listen_touches_nothing(directory: Path) -> None:
    directory.mkdir()
    unfinished(directory)
    before = everything(directory)
    with listener("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            run_service(settings(directory, directory, port=port), announce=pytest.fail)
    after = everything(directory)
    assert after.pop(LOCK)
    assert after == before
    with claimed(directory):  # and holds nothing back
        pass


def test_a_service_that_stopped_lets_the_next_one_in(directory: Path) -> None:
    for _ in range(2):
        with answering(directory) as client:
            assert client.get("/ready").status_code == 200
    with claimed(directory):
        pass


def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name a folder"), claimed(tmp_path / "file"):
        pass


def test_strays_and_damaged_entries_do_not_hide_the_rest(directory: Path) -> None:
    fitted(directory, "good")
    foreign = {"models/notes.txt", "models/backup/readme", "models/.hidden/x", "series/list.txt"}
    for name in foreign:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("mine")
    damaged = {
        "cut": "{",
        "list": "[]",
        "types": '{"fit": 5, "alarms": null, "request": {"series": "a"}}',
        "outside": '{"fit": "../good", "alarms": null, "request": {"series": "a"}}',
        "deep": "[" * 100_000,
    }
    for name, text in damaged.items():
        (directory / "models" / name).mkdir()
        (directory / "models" / name / "record.json").write_text(text)
    (directory / "models" / "pipe").mkdir()
    os.mkfifo(directory / "models" / "pipe" / "record.json")
    facts = fitted(directory, "facts")
    next(facts.glob("fit-*/facts.json")).write_text('{"train": "x"}')
    for name, text in (("gone", None), ("odd", '{"rows": "x"}')):
        (directory / "series" / name).mkdir()
        (directory / "series" / name / "data.csv").write_text("a\n1\n2\n")
        if text is not None:
            (directory / "series" / name / "series.json").write_text(text)

    with answering(directory) as client:
        upload = client.post("/v1/series?name=pump", content=csv_of(broken_table(50)))
        assert upload.status_code == 201, upload.text
        models = {each["name"]: each for each in client.get("/v1/models").json()}
        assert set(models) == {"good", "facts", "pipe", *damaged}
        assert [name for name, each in models.items() if each["ready"]] == ["good"]
        for name in {"facts", "pipe", *damaged}:
            assert "delete" in models[name]["fit"]["remedy"]
            assert client.get(f"/v1/models/{name}").status_code == 500
        series = {each["name"]: each for each in client.get("/v1/series").json()}
        assert set(series) == {"pump", "gone", "odd"}
        assert "delete" in series["gone"]["notes"][0]
        assert client.get("/metrics").status_code == 200
        # What is damaged can be deleted; what is foreign can be neither deleted nor replaced.
        assert client.delete("/v1/models/cut").status_code == 204
        assert client.delete("/v1/series/gone").status_code == 204
        assert client.delete("/v1/models/backup").status_code == 404
        for name in ("backup", "notes.txt"):
            asked = client.put(f"/v1/models/{name}", json={"series": "pump"})
            assert asked.status_code == 409
            assert "another name" in asked.json()["remedy"]
    for name in foreign:
        assert (directory / name).read_text() == "mine"


def test_deleting_a_linked_model_removes_the_link_alone(directory: Path, tmp_path: Path) -> None:
    real = fitted(tmp_path / "elsewhere", "real")
    (directory / "models").mkdir(parents=True)
    (directory / "models" / "linked").symlink_to(real)
    (directory / "models" / ".new-left").symlink_to(real)  # as older versions left it
    before = everything(real)
    with answering(directory) as client:
        assert [each["name"] for each in client.get("/v1/models").json()] == ["linked"]
        assert client.delete("/v1/models/linked").status_code == 204
        assert client.get("/v1/models").json() == []
    assert list((directory / "models").iterdir()) == []
    with answering(directory) as client:
        assert client.get("/ready").status_code == 200
    assert everything(real) == before


def test_files_of_the_user_in_the_folder_of_a_model_stay(directory: Path) -> None:
    path = fitted(directory, "good")
    (path / "notes.txt").write_text("mine")
    (path / "fit-0123456789ab").mkdir()
    (path / ".record.json.tmp").write_text("{")
    with answering(directory):
        pass
    assert (path / "notes.txt").read_text() == "mine"
    assert len(list(path.glob("fit-*"))) == 1
    assert not list(path.glob(".*"))


def test_a_budget_survives_a_fit_in_place_of_the_old_one(directory: Path) -> None:
    fitted(directory, "pump")
    models = ModelFolder(directory / "models", most=50)
    models.set_alarms("pump", "1/week")
    with answering(directory) as client:
        client.post("/v1/series?name=pump", content=csv_of(broken_table()))
        request = {"series": "pump", "train": 900, "replace": True}
        assert client.put("/v1/models/pump", json=request).status_code == 202
        pending = models.pending("pump")
        assert pending is not None
        assert pending.request.alarms == "1/week"
        # Also one chosen while the fit was under way.
        models.set_alarms("pump", "1/month")
        out = directory / "models" / "pump" / pending.fit
        out.mkdir()
        (out / "facts.json").write_text(json.dumps(FACTS))
        models.commit("pump")
        assert models.ready("pump").alarms == "1/month"
        # Asked for by name, it is another one; a new model has the usual one.
        for name, alarms, wanted in (("pump", "1/day", "1/day"), ("new", None, "1/1000")):
            client.service.fits.active.clear()
            asked = client.put(f"/v1/models/{name}", json=request | {"alarms": alarms})
            assert asked.status_code == 202, asked.text
            assert models.pending(name).request.alarms == wanted


def test_a_full_disk_is_not_ready_and_says_so(directory: Path) -> None:
    with answering(directory, spare_bytes=10**18) as client:
        answer = client.get("/ready")
        assert answer.status_code == 503
        assert "MB left" in answer.json()["problem"]
        assert client.get("/health").status_code == 200


def test_a_request_that_fills_the_disk_is_told_so(
    served: Client, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FULL

    with monkeypatch.context() as patched:
        patched.setattr(series_routes, "note_upload", fail)
        answer = served.post("/v1/series?name=pump", content=b"a\n1\n2\n")
    assert answer.status_code == 507
    assert "make room" in answer.json()["remedy"]
    assert served.get("/v1/series").json() == []
    served.post("/v1/series?name=pump", content=csv_of(broken_table()))
    with monkeypatch.context() as patched:
        patched.setattr("caps.serve.files.write_text", fail)
        answer = served.put("/v1/models/new", json={"series": "pump", "train": 900})
    assert answer.status_code == 507
    assert not (directory / "models" / "new").exists()


def test_a_failed_fit_has_its_reason_even_if_it_cannot_be_written(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FULL

    served.post("/v1/series?name=pump", content=csv_of(broken_table()))
    served.put("/v1/models/new", json={"series": "pump", "train": 900})
    fits = served.service.fits
    with monkeypatch.context() as patched:
        patched.setattr("caps.serve.files.write_text", fail)
        fits._settle(fits.active["new"], "failed", "the disk is full", "room")
    fit = served.get("/v1/models/new").json()["fit"]
    assert (fit["state"], fit["problem"]) == ("failed", "the disk is full")
    served.put("/v1/models/new", json={"series": "pump", "train": 900})
    fit = fits.active["new"]
    fit.out.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("caps.serve.files.write_text", fail)
        fits._conclude(fit)
    fit = served.get("/v1/models/new").json()["fit"]
    assert "could not be put in force" in fit["problem"]
    assert "room" in fit["remedy"]


def test_a_fit_that_waits_can_be_deleted_and_asked_for_again(
    served: Client, directory: Path
) -> None:
    served.post("/v1/series?name=pump", content=csv_of(broken_table()))
    for _ in range(2):
        asked = served.put("/v1/models/new", json={"series": "pump", "train": 900})
        assert asked.json()["fit"]["state"] == "waiting"
        assert served.delete("/v1/models/new").status_code == 204
        assert not (directory / "models" / "new").exists()
        assert served.service.fits.active == {}


@pytest.mark.parametrize(
    ("error", "problem"),
    [(FULL, "disk"), (MemoryError(), "memory"), (RuntimeError("odd"), "RuntimeError: odd")],
    ids=["disk", "memory", "other"],
)
def test_the_process_of_a_fit_tells_why_it_failed(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    problem: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(child, "fit_and_save", fail)
    facts = child.fit({"niceness": 0, "out": "x"})
    assert "Traceback" in caplog.text
    assert problem in facts["problem"]
    assert facts["remedy"]


def test_the_socket_is_that_of_the_host(tmp_path: Path) -> None:
    with listener("localhost", 0) as door:
        assert door.family in {socket.AF_INET, socket.AF_INET6}
    with pytest.raises(InputError, match="--host"):
        listener("192.0.2.1", 0)
