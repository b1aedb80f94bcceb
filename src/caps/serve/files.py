"""The service's directory: series and models as folders that are there as a whole or not at all.

    series/NAME/data.csv, series.json
    models/NAME/record.json      which fit is in force, and its alarm budget
    models/NAME/fit.json         the fit under way, or why the last one failed
    models/NAME/fit-ID/          a finished fit: facts.json, record.json and model/
    models/NAME/marks.json       what people marked as known anomalies
    models/NAME/feedback.json    what people said of events, whatever fit is in force
    models/NAME/audit.jsonl      one line for each change of what alarms
    models/NAME/streams/ID/      the state of a stream, whatever fit is in force

A folder is complete when it has its final name. Only the service writes `record.json`, so a
process killed at any moment leaves the old fit or the new one in force, never neither. What the
service did not write is neither shown nor removed.
"""

import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from caps.artifacts import write_text
from caps.errors import ArtifactError, CapsError
from caps.events import FeedbackBook
from caps.json_text import parse_json
from caps.serve.answers import SeriesFacts
from caps.serve.refusals import Refusal, missing, taken
from caps.serve.requests import NAME
from caps.store import AUDIT, FEEDBACK, add_line, read_feedback

DATA, SERIES, RECORD, FIT, FACTS, MODEL = (
    "data.csv", "series.json", "record.json", "fit.json", "facts.json", "model",
)  # fmt: skip
STREAMS, MARKS = "streams", "marks.json"
UNFINISHED, FINISHED = ".new-", "fit-"
FIT_ID = rf"^{FINISHED}[0-9a-f]{{12}}$"
# Left by a killed process: a folder on its way in or out, a file or folder half written.
LEFT = re.compile(rf"\{UNFINISHED}.*|\.({RECORD}|{FIT}|{MARKS}|{FEEDBACK})\..*")

log = logging.getLogger("caps.serve")


class StoredSeries(SeriesFacts):
    """What was noted at an upload."""

    options: dict[str, Any]  # how the file is read
    uploaded: str


class Request(BaseModel):
    """What a fit was asked for, with the options of the version that asked."""

    model_config = ConfigDict(extra="allow")

    series: str
    columns: list[str] | None = None
    known: list[tuple[int | str, int | str]] = []
    alarms: str = ""
    review: bool = False


class Record(BaseModel):
    """The fit of a model that is in force."""

    fit: str = Field(pattern=FIT_ID)  # its folder
    alarms: str | None = None  # another budget than that of the fit
    request: Request
    kept: list[str] = []  # other fits that can be put in force, the newest last
    before: str | None = None  # the one in force before, to go back to

    @property
    def budget(self) -> str:
        """The alarm budget."""
        return self.alarms or self.request.alarms


class Pending(Record):
    """A fit that was asked for and is not in force (yet)."""

    failed: bool = False
    problem: str = ""
    remedy: str = ""


class Marks(BaseModel):
    """What people marked in a series: rows, the end exclusive."""

    series: str
    spans: list[tuple[int, int]]


class FitFacts(BaseModel):
    """What a finished fit says of itself."""

    channels: list[str]
    train: tuple[int, int]
    learned: str = ""
    notes: list[str]
    seconds: float
    made: str | None = None  # when; None of fits of older versions
    data: str | None = None  # SHA-256 of the times and values given to the fit


Facts = TypeVar("Facts", bound=BaseModel)


class _Folder:
    """Folders by name in one directory."""

    what: str
    marks: tuple[str, ...]  # files by which a folder is known as the service's own

    def __init__(self, root: Path, most: int) -> None:
        self.root, self.most = root, most

    def names(self) -> list[str]:
        """All names, sorted."""
        if not self.root.is_dir():
            return []
        return sorted(path.name for path in self.root.iterdir() if self._is_own(path))

    def described(
        self, describe: Callable[[str], Facts], damaged: Callable[[str, CapsError], Facts]
    ) -> list[Facts]:
        """All of them, or what is wrong with one: a damaged entry must not hide the others."""
        facts = []
        for name in self.names():
            try:
                facts.append(describe(name))
            except (ArtifactError, Refusal) as error:
                log.error("the %s %s is damaged: %s", self.what, name, error)
                facts.append(damaged(name, error))
        return facts

    def path(self, name: str) -> Path:
        """Where the folder of that name is or will be; never outside of the directory."""
        if not re.fullmatch(NAME, name):
            raise missing(self.what, name)
        return self.root / name

    def existing(self, name: str) -> Path:
        """The folder of that name."""
        path = self.path(name)
        if not self._is_own(path):
            raise missing(self.what, name)
        return path

    def delete(self, name: str) -> None:
        """Remove a folder."""
        put_away(self.existing(name))

    def clean(self) -> None:
        """Remove what a killed process left unfinished, and tell of what is not the service's."""
        self.root.mkdir(parents=True, exist_ok=True)
        for path in self.root.iterdir():
            if LEFT.fullmatch(path.name):
                remove(path)
            elif not self._is_own(path):
                log.warning("%s is no %s of this service and is left alone", path, self.what)

    def _is_own(self, path: Path) -> bool:
        # Not Path.exists: that fails on a folder of another user.
        return bool(re.fullmatch(NAME, path.name)) and any(
            os.path.exists(path / mark) for mark in self.marks
        )

    def _check_room(self, name: str) -> None:
        if len(self.names()) >= self.most:
            raise taken(
                f"there are {self.most} {self.what}s already",
                f"delete some to make room for {name}",
            )


class SeriesFolder(_Folder):
    """Uploaded series."""

    what = "series"
    marks = (DATA, SERIES)

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

    def facts(self, name: str) -> StoredSeries:
        """What was noted at the upload."""
        return read_facts(StoredSeries, self.existing(name) / SERIES, name=name)

    def _check_new(self, path: Path) -> None:
        if os.path.lexists(path):
            raise taken(
                f"there is a series {path.name!r} already", "delete it or choose another name"
            )


class ModelFolder(_Folder):
    """Fitted models."""

    what = "model"
    marks = (RECORD, FIT)

    def __init__(self, root: Path, most: int, versions: int = 0) -> None:
        super().__init__(root, most)
        self.versions = versions  # kept beside the one in force

    def record(self, name: str) -> Record | None:
        """The fit in force; None for a model whose first fit is not finished."""
        return self._known(name, RECORD, Record)

    def pending(self, name: str) -> Pending | None:
        """The fit under way or the last that failed."""
        return self._known(name, FIT, Pending)

    def _known(self, name: str, file: str, kind: type[Facts]) -> Facts | None:
        path = self.existing(name) / file
        return read_facts(kind, path) if path.exists() else None

    def ready(self, name: str) -> Record:
        """The fit in force, or a refusal."""
        record = self.record(name)
        if record is None:
            raise taken(f"the model {name!r} is not fitted yet", "wait for its fit to finish")
        return record

    def fit(self, name: str) -> Path:
        """The folder of the fit in force."""
        return self.existing(name) / self.ready(name).fit

    def facts(self, name: str, record: Record) -> FitFacts:
        """What the fit in force said of itself."""
        return read_facts(FitFacts, self.existing(name) / record.fit / FACTS)

    def begin(self, name: str, request: Mapping[str, Any]) -> Path:
        """Note that a fit was asked for; returns the folder its process writes to."""
        path = self.path(name)
        new = not self._is_own(path)
        if new:
            self._make(path)
        fit = f"{FINISHED}{secrets.token_hex(6)}"
        try:
            _write(path / FIT, Pending(fit=fit, request=Request(**request)))
        except OSError:  # a full disk: no trace of a model that never was
            if new:
                path.rmdir()
            raise
        return path / fit

    def commit(self, name: str) -> None:
        """Put the finished fit in force, in place of an older one, or keep it to be looked at."""
        path, pending, record = self.existing(name), self.pending(name), self.record(name)
        if pending is None or not (path / pending.fit).is_dir():
            raise ArtifactError(f"the fit of {name} left no model", "fit it again")
        made = Record(fit=pending.fit, alarms=pending.alarms, request=pending.request)
        _write(path / pending.fit / RECORD, made)
        if record is None:
            _write(path / RECORD, made)
        elif pending.request.review:
            kept = [*record.kept, made.fit][-max(1, self.versions) :]
            _write(path / RECORD, record.model_copy(update={"kept": kept}))
        else:
            self._put_in_force(path, record, made)
        (path / FIT).unlink()
        waits = record is not None and pending.request.review
        self.note(name, "fitted, to be looked at" if waits else "fitted", version=made.fit)
        self._tidy(path)

    def fits(self, name: str) -> dict[str, FitFacts]:
        """All fits that are kept, the one in force among them, by their names."""
        path, record = self.existing(name), self.ready(name)
        found = [each for each in (*record.kept, record.fit) if (path / each / FACTS).is_file()]
        return {each: read_facts(FitFacts, path / each / FACTS) for each in found}

    def put_in_force(self, name: str, fit: str) -> None:
        """Let another fit that is kept answer from now on."""
        path, record = self.existing(name), self.ready(name)
        if fit == record.fit:
            raise taken(f"{fit} is in force already", "name another one")
        if fit not in self.fits(name):
            raise missing("version", fit)
        made = read_facts(Record, path / fit / RECORD)
        self._put_in_force(path, record, made.model_copy(update={"alarms": record.budget}))
        self.note(name, "put in force", version=fit, before=record.fit)

    def _put_in_force(self, path: Path, record: Record, made: Record) -> None:
        others = [each for each in (*record.kept, record.fit) if each != made.fit]
        if not (path / record.fit / RECORD).exists():  # of an older version of the service
            _write(path / record.fit / RECORD, record)
        kept = others[-self.versions :] if self.versions else []
        before = record.fit if record.fit in kept else None
        _write(path / RECORD, made.model_copy(update={"kept": kept, "before": before}))

    def feedback(self, name: str) -> FeedbackBook:
        """What people said of events."""
        return read_feedback(self.existing(name))

    def set_feedback(self, name: str, book: FeedbackBook, what: str, **facts: Any) -> None:
        """Keep what people said; it outlives fits."""
        write_text(self.existing(name) / FEEDBACK, json.dumps(book.to_list()) + "\n")
        self.note(name, what, **facts)

    def note(self, name: str, what: str, **facts: Any) -> None:
        """Add a line to the audit of a model."""
        add_line(self.existing(name) / AUDIT, what, **facts)

    def fail(self, name: str, problem: str, remedy: str) -> None:
        """Note why the fit under way came to nothing; an older one stays in force."""
        path, pending = self.existing(name), self.pending(name)
        if pending is not None:
            failure = {"failed": True, "problem": problem, "remedy": remedy}
            _write(path / FIT, pending.model_copy(update=failure))
        self._tidy(path)

    def dismiss(self, name: str) -> None:
        """Forget a fit that failed beside one in force."""
        path, pending = self.existing(name), self.pending(name)
        if self.record(name) is not None and pending is not None and pending.failed:
            (path / FIT).unlink()

    def marked(self, name: str) -> Marks | None:
        """What was marked; None if nobody did so far."""
        return self._known(name, MARKS, Marks)

    def set_marks(self, name: str, marks: Marks) -> None:
        """Note what is marked; it outlives fits."""
        _write(self.existing(name) / MARKS, marks)

    def set_alarms(self, name: str, alarms: str) -> None:
        """Note another alarm budget, also for a fit that will be in force soon."""
        path, record, pending = self.existing(name), self.ready(name), self.pending(name)
        if pending is not None and not pending.failed:
            _write(path / FIT, pending.model_copy(update={"alarms": alarms}))
        _write(path / RECORD, record.model_copy(update={"alarms": alarms}))
        self.note(name, "alarm budget", alarms=alarms, before=record.budget)

    def recover(self) -> None:
        """After a start: finish what was fitted, and tell of what was cut off."""
        self.clean()
        for name in self.names():
            path = self.root / name
            try:
                pending = self.pending(name)
                if pending is None or pending.failed:
                    self._tidy(path)
                elif (path / pending.fit).is_dir():
                    self.commit(name)
                else:
                    self.fail(name, "the service stopped during this fit", "fit again")
            except (ArtifactError, OSError) as error:
                log.error("the model %s is damaged: %s", name, error)

    def _make(self, path: Path) -> None:
        """The folder of a new model, in the place of nothing or of an empty one."""
        self._check_room(path.name)
        try:
            path.mkdir(exist_ok=True)
            foreign = path.is_symlink() or any(
                not LEFT.fullmatch(each.name) for each in path.iterdir()
            )
        except (FileExistsError, PermissionError):
            foreign = True
        if foreign:
            raise taken(
                f"{path.name!r} is taken by something that is no model of this service",
                "choose another name",
            )

    def _tidy(self, path: Path) -> None:
        """Remove every fit but the one in force and those kept, and half-written files."""
        record = self.record(path.name)
        kept = {record.fit, *record.kept} if record else set()
        for each in path.iterdir():
            fit = re.fullmatch(FIT_ID, each.name) and each.name not in kept
            if fit or LEFT.fullmatch(each.name):
                remove(each)


def remove(path: Path) -> None:
    """Remove a file, a folder, or a link, but never what a link points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put_away(path: Path) -> None:
    """Remove a folder: first out of sight at once, then for good."""
    hidden = path.with_name(f"{UNFINISHED}{secrets.token_hex(6)}")
    path.rename(hidden)
    remove(hidden)


def read_facts(kind: type[Facts], path: Path, **more: Any) -> Facts:
    """What a file of the service says, and more that is known; an edited one may hold anything."""
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            raise OSError("no file")
        return kind(**parse_json(path.read_text(encoding="utf-8")) | more)
    except (TypeError, ValidationError):
        raise ArtifactError(f"{path} has odd or missing entries", "delete this entry") from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error})", "delete this entry") from None


def _write(path: Path, facts: BaseModel) -> None:
    write_text(path, facts.model_dump_json(indent=2) + "\n")
