"""The service's directory: series and models as folders that are there as a whole or not at all.

    series/NAME/data.csv, series.json
    models/NAME/record.json      which fit is in force, and its alarm budget
    models/NAME/fit.json         the fit under way, or why the last one failed
    models/NAME/fit-ID/          a finished fit: facts.json and model/

A folder is complete when it has its final name. Only the service writes `record.json`, so a
process killed at any moment leaves the old fit or the new one in force, never neither.
"""

import json
import logging
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from caps.artifacts import write_text
from caps.errors import ArtifactError
from caps.json_text import parse_json
from caps.serve.refusals import missing, taken

# Starts with a letter or digit: no hidden file, no "..", no separator can be named.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
DATA, SERIES, RECORD, FIT, FACTS, MODEL = (
    "data.csv", "series.json", "record.json", "fit.json", "facts.json", "model",
)  # fmt: skip
UNFINISHED, FINISHED = ".new-", "fit-"

log = logging.getLogger("caps.serve")


@dataclass(frozen=True, slots=True)
class Record:
    """The fit of a model that is in force."""

    fit: str  # its folder
    alarms: str | None  # another budget than that of the fit
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """A fit that was asked for and is not in force (yet)."""

    fit: str
    request: dict[str, Any]
    failed: bool = False
    problem: str = ""
    remedy: str = ""


Facts = TypeVar("Facts", Record, Pending)


class _Folder:
    """Folders by name in one directory."""

    what: str

    def __init__(self, root: Path, most: int) -> None:
        self.root, self.most = root, most
        root.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(path.name for path in self.root.iterdir() if re.fullmatch(NAME, path.name))

    def path(self, name: str) -> Path:
        """Where the folder of that name is or will be; never outside of the directory."""
        if not re.fullmatch(NAME, name):
            raise missing(self.what, name)
        return self.root / name

    def existing(self, name: str) -> Path:
        """The folder of that name."""
        path = self.path(name)
        if not path.is_dir():
            raise missing(self.what, name)
        return path

    def delete(self, name: str) -> None:
        """Remove a folder: first out of sight at once, then for good."""
        path = self.existing(name)
        hidden = self.root / f"{UNFINISHED}{secrets.token_hex(6)}"
        path.rename(hidden)
        shutil.rmtree(hidden)

    def clean(self) -> None:
        """Remove what a killed process left unfinished."""
        for path in self.root.iterdir():
            if path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _check_room(self, name: str) -> None:
        if len(self.names()) >= self.most:
            raise taken(
                f"there are {self.most} {self.what}s already",
                f"delete some to make room for {name}",
            )


class SeriesFolder(_Folder):
    """Uploaded series."""

    what = "series"

    @contextmanager
    def adding(self, name: str) -> Iterator[Path]:
        """A folder to write `data.csv` and `series.json` to; gets its name when the block ends."""
        path = self.path(name)
        self._check_new(path)
        self._check_room(name)
        hidden = self.root / f"{UNFINISHED}{secrets.token_hex(6)}"
        hidden.mkdir()
        try:
            yield hidden
            self._check_new(path)
            hidden.rename(path)
        finally:
            shutil.rmtree(hidden, ignore_errors=True)

    def facts(self, name: str) -> dict[str, Any]:
        """What was noted at the upload."""
        return _read(self.existing(name) / SERIES)

    def _check_new(self, path: Path) -> None:
        if path.exists():
            raise taken(
                f"there is a series {path.name!r} already", "delete it or choose another name"
            )


class ModelFolder(_Folder):
    """Fitted models."""

    what = "model"

    def record(self, name: str) -> Record | None:
        """The fit in force; None for a model whose first fit is not finished."""
        path = self.existing(name) / RECORD
        return _made(Record, path) if path.is_file() else None

    def pending(self, name: str) -> Pending | None:
        """The fit under way or the last that failed."""
        path = self.existing(name) / FIT
        return _made(Pending, path) if path.is_file() else None

    def ready(self, name: str) -> Record:
        """The fit in force, or a refusal."""
        record = self.record(name)
        if record is None:
            raise taken(f"the model {name!r} is not fitted yet", "wait for its fit to finish")
        return record

    def facts(self, name: str, record: Record) -> dict[str, Any]:
        """What the fit in force said of itself."""
        return _read(self.existing(name) / record.fit / FACTS)

    def model(self, name: str, record: Record) -> Path:
        """The folder that `CAPS.load` reads."""
        return self.existing(name) / record.fit / MODEL

    def begin(self, name: str, request: Mapping[str, Any]) -> Path:
        """Note that a fit was asked for; returns the folder its process writes to."""
        path = self.path(name)
        if not path.exists():
            self._check_room(name)
            path.mkdir()
        pending = Pending(f"{FINISHED}{secrets.token_hex(6)}", dict(request))
        _write(path / FIT, asdict(pending))
        return path / pending.fit

    def commit(self, name: str) -> None:
        """Put the finished fit in force, in place of an older one."""
        path, pending = self.existing(name), self.pending(name)
        if pending is None or not (path / pending.fit).is_dir():
            raise ArtifactError(f"the fit of {name} left no model", "fit it again")
        _write(path / RECORD, asdict(Record(pending.fit, None, pending.request)))
        (path / FIT).unlink()
        self._tidy(path)

    def fail(self, name: str, problem: str, remedy: str) -> None:
        """Note why the fit under way came to nothing; an older one stays in force."""
        path, pending = self.existing(name), self.pending(name)
        if pending is not None:
            told = Pending(pending.fit, pending.request, True, problem, remedy)
            _write(path / FIT, asdict(told))
        self._tidy(path)

    def set_alarms(self, name: str, alarms: str) -> None:
        """Note another alarm budget."""
        record = self.ready(name)
        _write(self.existing(name) / RECORD, asdict(Record(record.fit, alarms, record.request)))

    def recover(self) -> None:
        """After a start: finish what was fitted, and tell of what was cut off."""
        self.clean()
        for name in self.names():
            try:
                self._recover(name)
            except ArtifactError as error:
                log.error("the model %s is damaged: %s", name, error)

    def _recover(self, name: str) -> None:
        path, pending = self.root / name, self.pending(name)
        if pending is not None and not pending.failed:
            if (path / pending.fit).is_dir():
                self.commit(name)
            else:
                self.fail(name, "the service stopped during this fit", "fit again")
        if not (path / RECORD).is_file() and not (path / FIT).is_file():
            self.delete(name)
        else:
            self._tidy(path)

    def _tidy(self, path: Path) -> None:
        """Remove every fit but the one in force, and half-written files."""
        record = _made(Record, path / RECORD) if (path / RECORD).is_file() else None
        kept = {RECORD, FIT, record.fit if record else ""}
        for each in path.iterdir():
            if each.name not in kept:
                shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error})", "delete this entry") from None
    if not isinstance(facts, dict):
        raise ArtifactError(f"{path} holds no facts", "delete this entry")
    return facts


def _made(kind: type[Facts], path: Path) -> Facts:
    try:
        return kind(**_read(path))
    except TypeError:
        raise ArtifactError(f"{path} has odd or missing keys", "delete this entry") from None


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(facts, indent=2) + "\n")
