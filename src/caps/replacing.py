"""What CAPS may replace on disk, and how: whole or not at all, and never what is not its own.

- A file takes the place of nothing or of a regular file.
- A folder takes the place of nothing, of an empty folder, or of one that CAPS wrote as the same
  kind and that holds nothing else.
- Links, named pipes, devices and sockets are refused: they are neither followed nor replaced.

Everything is prepared in a hidden folder beside its target and then put in place in one step. That
folder is locked as long as its writer lives, so the next write to the same target can tell what a
killed one left behind, and removes it.
"""

import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from caps.errors import InputError

MANIFEST = "manifest.json"
NEW, OLD, LOCK = "new", "old", "lock"  # in the hidden folder

FILE, FOLDER = "a file", "a folder"
KINDS = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: FOLDER,
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
NOT_A_PATH = (errno.ENOTDIR, errno.ELOOP)
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of renameat2(2)
CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def check_file(path: Path) -> None:
    """Refuse a path where no file can be written, before any work is done."""
    found = _found(path)
    if found not in (None, FILE):
        raise InputError(f"{path} is {found}", "name a new file, or a regular one to replace")
    _check_parent(path)


def check_folder(folder: Path, *, kind: str) -> None:
    """Refuse a path where no folder of this kind can be written, before any work is done."""
    found = _found(folder)
    if found not in (None, FOLDER):
        raise InputError(f"{folder} is {found}", "name a new or an empty folder")
    _check_parent(folder)
    if found is None:
        return
    foreign = _foreign(folder, kind)
    if foreign is not None:
        raise InputError(
            f"{folder} holds {foreign}, which CAPS did not write as part of {kind!r}",
            "name a new or an empty folder",
        )
    # Such a folder cannot change places with another one.
    here = Path(os.path.realpath(folder))
    if here in (current := Path.cwd(), *current.parents) or os.path.ismount(here):
        raise InputError(
            f"{folder} is the current folder, or a mount point", "name a folder inside of it"
        )


def check_room(folder: Path) -> None:
    """Refuse a path that is no folder to add files to; a link to a folder is one."""
    if _found(folder) is not None and not folder.is_dir():
        raise InputError(f"{folder} is {_found(folder)}, not a folder", "name another folder")
    _check_parent(folder)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is there becomes `path` when the block ends."""
    check_file(path)
    with _workplace(path) as place:
        yield place / NEW
        check_file(path)
        os.replace(place / NEW, path)


@contextmanager
def replacing_folder(folder: Path, *, kind: str) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `folder` when the block ends."""
    check_folder(folder, kind=kind)
    if folder.name in ("", ".."):
        folder = Path(os.path.realpath(folder))
    with _workplace(folder) as place:
        new = place / NEW
        new.mkdir()
        yield new
        check_folder(folder, kind=kind)
        _exchange(new, folder, place / OLD)


def clear_leftovers(target: Path) -> None:
    """Remove what killed writes to `target` left behind, and undo an exchange that was cut off."""
    if not target.parent.is_dir():
        return
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.caps")
    for place in [path for path in target.parent.iterdir() if name.fullmatch(path.name)]:
        with suppress(OSError):  # a live writer holds the lock, or another one is clearing
            _clear(place, target)


def _clear(place: Path, target: Path) -> None:
    if not {path.name for path in place.iterdir()} <= {NEW, OLD, LOCK}:
        return
    try:
        lock = os.open(place / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        place.rmdir()  # empty: killed before it was locked
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _discard(place, target)
    finally:
        os.close(lock)


def _discard(place: Path, target: Path) -> None:
    """Remove a hidden folder; the old target returns if nothing has taken its place."""
    if (place / OLD).is_dir() and not os.path.lexists(target):
        os.rename(place / OLD, target)
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """A hidden folder beside `target`, locked until the block ends or the process is killed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(target)
    place, lock = _locked(target)
    try:
        yield place
    finally:
        try:
            _discard(place, target)
        finally:
            os.close(lock)


def _locked(target: Path) -> tuple[Path, int]:
    while True:
        made = tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".caps")
        place = Path(made)
        try:
            lock = os.open(place / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # another writer took it for a leftover
            continue
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if (place / LOCK).exists():
            return place, lock
        os.close(lock)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Put `new` in the place of `folder`: at every moment one of the two is there, or in `old`."""
    try:
        os.rename(new, folder)  # over nothing, or an empty folder
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _exchanged(new, folder):
            os.rename(folder, old)
            os.rename(new, folder)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    if renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _found(path: Path) -> str | None:
    """What stands at a path, links not followed; None for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NOT_A_PATH:
            return None  # said of the parent
        raise
    return KINDS.get(stat.S_IFMT(mode), "a device")


def _check_parent(path: Path) -> None:
    """The folders above may be missing, but nothing else may stand in their place."""
    for parent in path.absolute().parents:
        if parent.is_dir():
            return
        found = _found(parent)
        if found is not None:
            raise InputError(f"{parent} is {found}, not a folder", "name another path")


def _foreign(folder: Path, kind: str) -> str | None:
    """The first name in a folder that CAPS did not write as a folder of this kind."""
    listed = _listed(folder / MANIFEST, kind)
    holding = {parent.as_posix() for name in listed for parent in Path(name).parents}
    for root, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            path = Path(root, name)
            inside, found = path.relative_to(folder).as_posix(), _found(path)
            own = inside in (listed if found == FILE else holding)
            if not own or found not in (FILE, FOLDER):
                return inside
    return None


def _listed(manifest: Path, kind: str) -> set[str]:
    """The files that a manifest of this kind names, itself among them; none if it is another's."""
    if _found(manifest) != FILE:
        return set()
    try:
        facts = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return set()
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        return set()
    groups, files = facts.get("sha256"), facts.get("files")
    names = [f"{group}.safetensors" for group in groups] if isinstance(groups, dict) else []
    return {MANIFEST, *names, *(str(each) for each in (files if isinstance(files, list) else ()))}
