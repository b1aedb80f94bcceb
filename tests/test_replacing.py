"""Only what CAPS wrote and regular files are replaced; a kill leaves the old or the new."""

import json
import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from caps import replacing as module
from caps.artifacts import read_folder, write_folder, write_text, writing_together
from caps.errors import ArtifactError, InputError
from caps.replacing import MANIFEST, check_file, check_folder, check_room

KIND = "box"


def write(folder: Path, seed: int) -> None:
    arrays = {"weights": {"a": np.full(3, float(seed))}}
    write_folder(folder, kind=KIND, version=1, facts={"seed": seed}, arrays=arrays)


def write_tables(folder: Path, seed: int) -> None:
    with writing_together(folder, kind=KIND, version=1) as staging:
        write_text(staging / "report.html", str(seed))
        write_text(staging / "scores.csv", str(seed))
        write(staging / "model", seed)


def seed_of(folder: Path) -> int:
    """Whose folder it is: all of its files agree."""
    if (folder / "report.html").exists():
        seeds = {int((folder / name).read_text()) for name in ("report.html", "scores.csv")}
        (seed,) = seeds | {seed_of(folder / "model")}
        return seed
    manifest, groups = read_folder(folder, kind=KIND, version=1)
    assert groups["weights"]["a"].tolist() == [manifest["seed"]] * 3
    return int(manifest["seed"])


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below a folder; opening a pipe or a device would wait."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            mode = path.lstat().st_mode
            content: bytes | str = b""
            if stat.S_ISREG(mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.readlink(path)
            found[str(path.relative_to(folder))] = (mode, content)
    return found


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices are made by root alone")


def make_link(path: Path) -> None:
    path.with_name("thesis.doc").write_text("precious")
    path.symlink_to("thesis.doc")


def make_link_to_folder(path: Path) -> None:
    write(path.with_name("precious"), 1)
    path.symlink_to("precious")


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a named pipe": lambda path: os.mkfifo(path),
    "a socket": make_socket,
    "a device": make_device,
    "a link": make_link,
    "a link to a folder": make_link_to_folder,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


def foreign_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"name": "a browser extension", "version": 3}')
    (folder / "src").mkdir()
    (folder / "src" / "code.js").write_text("precious")


def other_kind(folder: Path) -> None:
    write_folder(folder / "x", kind="hat", version=1, facts={}, arrays={})
    (folder / "x" / MANIFEST).rename(folder / MANIFEST)
    (folder / "x").rmdir()


def own_and(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        write(folder, 1)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")

    return make


def own_and_a_linked_array(folder: Path) -> None:
    write(folder, 1)
    (folder / "weights.safetensors").rename(folder.with_name("elsewhere"))
    (folder / "weights.safetensors").symlink_to("../elsewhere")


def own_with_a_piped_manifest(folder: Path) -> None:
    write(folder, 1)
    (folder / MANIFEST).unlink()
    os.mkfifo(folder / MANIFEST)


FOREIGN: dict[str, Callable[[Path], None]] = {
    "no manifest": lambda folder: (folder / "thesis.doc").write_text("precious"),
    "a folder alone": lambda folder: (folder / "empty").mkdir(),
    "a foreign manifest": foreign_manifest,
    "another kind": other_kind,
    "a file more": own_and("notes.txt"),
    "a folder more": own_and("notes/today.txt"),
    "a linked array": own_and_a_linked_array,
    "a piped manifest": own_with_a_piped_manifest,
    "a broken manifest": lambda folder: (folder / MANIFEST).write_text("{"),
    "a deep manifest": lambda folder: (folder / MANIFEST).write_text("[" * 100_000),
    "a listed manifest": lambda folder: (folder / MANIFEST).write_text('["box"]'),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_only_regular_files_are_replaced(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    SPECIAL[name](target)
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match="is a"):
        write_text(target, "new")
    with pytest.raises(InputError, match="is a"):
        write(target, 2)
    with pytest.raises(InputError, match="is a"):
        write_tables(target, 2)
    if name == "a link to a folder":
        check_room(target)
    else:
        with pytest.raises(InputError, match="is a"):
            check_room(target)
        with pytest.raises(InputError, match="not a folder"):
            write_text(target / "inside.txt", "new")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_that_is_not_ours_alone_is_never_replaced(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    FOREIGN[name](folder)
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match="a new or an empty folder"):
        write(folder, 2)
    with pytest.raises(InputError, match="a new or an empty folder"):
        write_tables(folder, 2)
    with pytest.raises(InputError, match="is a folder"):
        write_text(folder, "new")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("way", [write, write_tables])
def test_nothing_an_empty_folder_and_our_own_are_replaced(
    tmp_path: Path, way: Callable[[Path, int], None]
) -> None:
    folder = tmp_path / "above" / "folder"
    way(folder, 1)
    way(folder, 2)
    assert seed_of(folder) == 2
    (folder.parent / "empty").mkdir()
    way(folder.parent / "empty", 3)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["empty", "folder"]


def test_folders_that_cannot_change_places_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    with pytest.raises(InputError, match="inside of it"):
        check_folder(Path(), kind=KIND)
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path).name == "mounted")
    (tmp_path / "mounted").mkdir()
    with pytest.raises(InputError, match="inside of it"):
        check_folder(tmp_path / "mounted", kind=KIND)
    write(Path("../deep/../beside"), 1)
    assert seed_of(tmp_path / "beside") == 1


def test_a_file_in_place_of_a_folder_above_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    for check in (check_file, check_room, lambda path: check_folder(path, kind=KIND)):
        with pytest.raises(InputError, match="file is a file, not a folder"):
            check(tmp_path / "file" / "deep" / "target")


class Killed(BaseException):
    """What a fault raises in this process; nothing in CAPS catches it."""


STEPS = ((os, "rename"), (os, "replace"), (module, "_exchanged"), (shutil, "rmtree"))


def fault_at(monkeypatch: pytest.MonkeyPatch, wanted: int, fault: Callable[[], None]) -> None:
    """Have the fault happen just before the step of that number."""
    steps = count(1)

    def wrap(real: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **options: object) -> object:
            if next(steps) == wanted:
                fault()
            return real(*arguments, **options)

        return step

    for holder, name in STEPS:
        monkeypatch.setattr(holder, name, wrap(getattr(holder, name)))


@pytest.fixture(params=[True, False], ids=["in one step", "in two steps"])
def exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(module, "_exchanged", lambda *_: False)


@pytest.mark.usefixtures("exchange")
@pytest.mark.parametrize("way", [write, write_tables])
@pytest.mark.parametrize("step", range(1, 9))
def test_a_fault_at_any_step_leaves_the_old_or_the_new_and_nothing_else(
    tmp_path: Path, step: int, way: Callable[[Path, int], None]
) -> None:
    folder = tmp_path / "folder"
    way(folder, 1)

    def fault() -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        fault_at(patch, step, fault)
        way(folder, 2)
    assert seed_of(folder) in (1, 2)
    way(folder, 3)
    assert seed_of(folder) == 3
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.usefixtures("exchange")
@pytest.mark.parametrize("way", [write, write_tables])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, way: Callable[[Path, int], None]
) -> None:
    folder, step, left = tmp_path / "folder", 0, set()
    way(folder, 1)
    while True:
        step += 1
        child = os.fork()
        if child == 0:
            try:
                with pytest.MonkeyPatch.context() as patch:
                    fault_at(patch, step, lambda: os.kill(os.getpid(), signal.SIGKILL))
                    way(folder, 2)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        left.add(len(os.listdir(tmp_path)))
        with suppress(ArtifactError):
            read_folder(folder, kind=KIND, version=1)  # the next start puts aside what was aside
        assert seed_of(folder) in (1, 2)
        way(folder, 1)
        assert os.listdir(tmp_path) == ["folder"]
    assert step > 3
    assert left >= {2}  # there was something to remove


def test_a_killed_write_of_a_file_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("old")
    child = os.fork()
    if child == 0:
        with module.replacing(path) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "old"
    write_text(tmp_path / "scores.csv.other", "another target")
    assert len(os.listdir(tmp_path)) == 3
    write_text(path, "new")
    assert sorted(os.listdir(tmp_path)) == ["scores.csv", "scores.csv.other"]


def test_what_a_live_writer_prepares_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    with module.replacing(path) as slow:
        slow.write_text("slow")
        write_text(path, "quick")
        assert slow.read_text() == "slow"
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["scores.csv"]


def test_hidden_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".box.abcdefgh.caps").mkdir()
    (tmp_path / ".box.abcdefgh.caps" / "thesis.doc").write_text("precious")
    (tmp_path / ".box.ABC.caps").mkdir()
    before = snapshot(tmp_path)
    write(tmp_path / "box", 1)
    assert before.items() <= snapshot(tmp_path).items()


def test_a_folder_that_something_was_added_to_meanwhile_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_tables(folder, 1)

    def slowly() -> None:
        with writing_together(folder, kind=KIND, version=1) as staging:
            (staging / "report.html").write_text("2")
            (folder / "thesis.doc").write_text("precious")

    with pytest.raises(InputError, match=r"thesis\.doc"):
        slowly()
    assert (folder / "thesis.doc").read_text() == "precious"
    assert (folder / "report.html").read_text() == "1"
    assert os.listdir(tmp_path) == ["folder"]


def test_the_manifest_says_which_files_belong_together(tmp_path: Path) -> None:
    write_tables(tmp_path / "folder", 1)
    facts = json.loads((tmp_path / "folder" / MANIFEST).read_text())
    assert facts["files"] == [
        "model/manifest.json",
        "model/weights.safetensors",
        "report.html",
        "scores.csv",
    ]
