"""Versions of a model: which is in force, what each was fitted on, and who changed what when.

    manifest.json     the versions, and those in force so far, the last one now
    v1/, v2/          models as `CAPS.save` writes them
    feedback.json     what people said of events: it outlives versions
    audit.jsonl       one line for each change, only ever added to

Such a folder can be named wherever a model can.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from caps.artifacts import MANIFEST, read_manifest, write_text
from caps.errors import ArtifactError, InputError
from caps.events import FeedbackBook
from caps.json_text import parse_json
from caps.replacing import check_room

KIND, FORMAT = "caps.versions", 1
FEEDBACK, AUDIT, LOCK = "feedback.json", "audit.jsonl", ".lock"
KEEP = 5  # versions, unless the user says otherwise
LEAST = 2  # the one in force, and one to go back to


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a model, and what it was fitted on."""

    name: str
    made: str  # when, as ISO text in UTC
    why: str
    source: str  # of the rows
    rows: int
    start: str | None  # time of the first row given to the fit, in UTC
    end: str | None
    learned: str  # which of the rows were learned from
    data: str  # SHA-256 of times and values; empty where nobody noted it

    def __str__(self) -> str:
        times = "" if self.start is None else f", {self.start} to {self.end}"
        data = f", data {self.data[:12]}" if self.data else ""
        return (
            f"{self.name} {self.made} {self.why}: {self.rows:,} rows of {self.source}{times}{data}"
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What the manifest says."""

    versions: tuple[Version, ...] = ()
    in_force: tuple[str, ...] = ()  # one after the other; the last one is now
    made: int = 0  # versions so far: no name is given twice


class Store:
    """A folder of versions; every change is written whole, and noted in the audit."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @classmethod
    def is_at(cls, folder: str | os.PathLike[str]) -> bool:
        """Whether a folder holds versions, not one model."""
        try:
            manifest = parse_json((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
            return isinstance(manifest, dict) and manifest.get("kind") == KIND
        except (OSError, ValueError):
            return False

    @classmethod
    def create(cls, folder: str | os.PathLike[str]) -> Self:
        """A folder without versions, or the one that is there."""
        store = cls(folder)
        if cls.is_at(folder):
            return store
        check_room(store.folder)
        if store.folder.is_dir() and any(store.folder.iterdir()):
            raise InputError(f"{folder} holds something else", "name a new or an empty folder")
        store.folder.mkdir(parents=True, exist_ok=True)
        store._write(Facts())
        return store

    @property
    def facts(self) -> Facts:
        """What the manifest says now."""
        manifest = read_manifest(self.folder, kind=KIND, version=FORMAT)
        try:
            versions = tuple(Version(**each) for each in manifest["versions"])
            names = {each.name for each in versions}
            in_force = tuple(str(each) for each in manifest["in_force"])
            if not names.issuperset(in_force):
                raise ValueError("a version in force that is not there")
            return Facts(versions, in_force, int(manifest["made"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{self.folder / MANIFEST} has odd or missing entries ({error})", "restore it"
            ) from None

    @property
    def current(self) -> Version:
        """The version in force."""
        facts = self.facts
        if not facts.in_force:
            raise InputError(f"{self.folder} has no version yet", "fit one with caps model refit")
        return self.version(facts.in_force[-1])

    def version(self, name: str) -> Version:
        """One of them by its name."""
        found = {each.name: each for each in self.facts.versions}
        if name not in found:
            raise InputError(
                f"there is no version {name!r}", f"name one of: {', '.join(found) or 'none so far'}"
            )
        return found[name]

    def path(self, name: str) -> Path:
        """The folder of a version's model."""
        return self.folder / self.version(name).name

    def add(self, save: Callable[[Path], None], *, when: str = "", **fitted_on: Any) -> Version:
        """Keep another version, written by `save`; the first one is in force at once.

        `when` it was made is now, unless it is given.
        """
        with self._changing():
            facts = self.facts
            made = Version(name=f"v{facts.made + 1}", made=when or _now(), **fitted_on)
            path = self.folder / made.name
            if path.exists():  # of a process that was killed before it was noted
                shutil.rmtree(path)
            save(path)
            in_force = facts.in_force or (made.name,)
            self._write(Facts((*facts.versions, made), in_force, facts.made + 1))
            self.note("added", version=made.name, **asdict(made), in_force=in_force[-1])
            return made

    def promote(self, name: str, **known: Any) -> None:
        """Put a version in force; `known` is what is noted of the reasons."""
        with self._changing():
            facts, wanted = self.facts, self.version(name).name
            before = facts.in_force[-1] if facts.in_force else None
            if wanted == before:
                raise InputError(f"{name} is in force already", "name another version")
            self._write(replace(facts, in_force=(*facts.in_force, wanted)))
            self.note("promoted", version=wanted, before=before, **known)

    def rollback(self) -> str:
        """Put the version in force that was before; returns its name."""
        with self._changing():
            facts = self.facts
            if len(facts.in_force) < 2:
                raise InputError("no other version was in force before", "promote one by its name")
            *before, left = facts.in_force
            self._write(replace(facts, in_force=tuple(before)))
            self.note("rolled back", version=before[-1], before=left)
            return before[-1]

    def prune(self, keep: int = KEEP) -> list[str]:
        """Remove all but the newest, the one in force and the one before it; returns which."""
        if keep < LEAST:
            raise InputError(f"{keep} versions to keep", f"keep {LEAST} or more")
        with self._changing():
            facts = self.facts
            spared = {each.name for each in facts.versions[-keep:]} | {*facts.in_force[-2:]}
            gone = [each.name for each in facts.versions if each.name not in spared]
            if gone:
                kept = tuple(each for each in facts.versions if each.name in spared)
                in_force = tuple(each for each in facts.in_force if each in spared)
                self._write(replace(facts, versions=kept, in_force=in_force))
                for name in gone:
                    shutil.rmtree(self.folder / name, ignore_errors=True)
                    self.note("removed", version=name)
            return gone

    @property
    def feedback(self) -> FeedbackBook:
        """What people said of events."""
        return read_feedback(self.folder)

    def set_feedback(self, book: FeedbackBook) -> None:
        """Keep what people said, in place of that so far."""
        with self._changing():
            before = {each.id: each for each in self.feedback}
            write_text(self.folder / FEEDBACK, json.dumps(book.to_list(), indent=1) + "\n")
            for each in book:
                old = before.get(each.id)
                if old is None or old.revoked != each.revoked:
                    facts = each.to_dict()
                    del facts["example"]
                    self.note("feedback" if each.revoked is None else "revoked", **facts)

    def note(self, what: str, **facts: Any) -> None:
        """Add a line to the audit; it is on the disk when this returns."""
        add_line(self.folder / AUDIT, what, **facts)

    def audit(self) -> list[dict[str, Any]]:
        """All lines of the audit, the oldest first."""
        try:
            text = (self.folder / AUDIT).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [dict(parse_json(line)) for line in text.splitlines() if line.strip()]

    def _write(self, facts: Facts) -> None:
        manifest: Mapping[str, Any] = {"kind": KIND, "version": FORMAT, **asdict(facts)}
        write_text(self.folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, also of several processes."""
        with (self.folder / LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def read_feedback(folder: Path) -> FeedbackBook:
    """What people said of the events of a model."""
    path = folder / FEEDBACK
    try:
        return FeedbackBook.from_list(parse_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return FeedbackBook()
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error})", "restore it") from None


def add_line(path: Path, what: str, **facts: Any) -> None:
    """Add a line of JSON to an audit; it is on the disk when this returns."""
    line = json.dumps({"time": _now(), "what": what, **facts}, ensure_ascii=False)
    with path.open("ab", buffering=0) as audit:  # in one piece, also beside other processes
        audit.write(line.encode() + b"\n")
        os.fsync(audit.fileno())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
