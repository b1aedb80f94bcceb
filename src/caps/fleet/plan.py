"""Which series a fleet is made of: files in a folder, a manifest, a long table or a wide one."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from caps.errors import InputError
from caps.series import Origin, Series, read, read_many

TABLE = re.compile(
    r"([^.].*)\.(csv|csv\.gz|csv\.bz2|csv\.xz|parquet|pq)", re.IGNORECASE | re.DOTALL
)
MANIFEST_COLUMNS = ("file", "column", "id", "train")
LONGEST_NAME = 120  # bytes: room for the ends that temporary names add


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One series of a fleet: a file to be read where the work is done, or the rows themselves."""

    id: str
    source: Path | Series
    stamp: str  # changes when the file does
    columns: tuple[str, ...] | None = None
    train: str | None = None

    @property
    def name(self) -> str:
        """The id as a file name: readable, and different for different ids."""
        return file_name(self.id)

    def located(self) -> "Entry":
        """For workers, which have other working directories."""
        path = self.source
        return replace(self, source=path.absolute()) if isinstance(path, Path) else self


def file_name(id: str) -> str:
    """Characters that a file name cannot have are percent-encoded.

    >>> file_name("db-1/cpu")
    'db-1%2Fcpu'
    """
    name = quote(id, safe=" +,=@()[]")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) <= LONGEST_NAME:
        return name
    # "~" is never encoded, but ids this long are rare enough for the digest to tell them apart.
    return f"{name[: LONGEST_NAME - 17]}~{hashlib.sha256(id.encode()).hexdigest()[:16]}"


def find_series(
    source: str | Path,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    time: str | None = None,
    train: str | None = None,
) -> list[Entry]:
    """The series of a folder (one for each file), a manifest, a long or a wide table.

    A CSV file with a column `file` is a manifest: one series for each line, with `column`, `id`
    and `train` if they are there. With `id` the file is a long table whose values are in
    `columns`. Any other file is a wide table: one series for each column.
    """
    path = Path(source)
    if not path.exists():
        raise InputError(f"{path} does not exist", "name a folder, a manifest or a table")
    chosen = None if columns is None else tuple(columns)
    if path.is_dir():
        entries = _files(path)
    elif id is not None:
        if chosen is None:
            raise InputError(
                f"which columns of {path} hold the values is not said", "name them with --columns"
            )
        many = read_many(path, id=id, value=chosen, time=time, sort=True, minimum_rows=1)
        entries = [Entry(name, series, _stamp(path)) for name, series in many.items()]
    elif _is_manifest(path):
        entries = _listed(path)
    else:
        whole = read(path, columns=chosen, time=time)
        entries = [Entry(name, whole.select(name), _stamp(path)) for name in whole.channels]
    for name, count in Counter(entry.id for entry in entries).items():
        if count > 1:
            raise InputError(
                f"two series are called {name!r}", "give every series an id of its own"
            )
    return [_completed(entry, chosen, train) for entry in entries]


def _completed(entry: Entry, columns: tuple[str, ...] | None, train: str | None) -> Entry:
    """With what is said of all series, where nothing is said of this one."""
    train = entry.train or train
    if isinstance(entry.source, Path):
        return replace(entry, columns=entry.columns or columns, train=train)
    # Without the columns of the table it came from: results do not go back there.
    return replace(entry, source=replace(entry.source, origin=Origin()), train=train)


def _files(folder: Path) -> list[Entry]:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    found = [Entry(name, path, _stamp(path)) for path in files if (name := _stem(path))]
    if not found:
        raise InputError(f"{folder} holds no CSV or Parquet file", "name the folder of the series")
    return found


def _stem(path: Path) -> str | None:
    """The name without what tells the format; None for files that are no tables."""
    found = TABLE.fullmatch(path.name)
    return None if found is None else found[1]


def _is_manifest(path: Path) -> bool:
    if _stem(path) is None or path.suffix.lower() in (".parquet", ".pq"):
        return False
    try:
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline()
    except UnicodeDecodeError:
        return False
    return "file" in [name.strip().strip('"') for name in header.split(",")]


def _listed(path: Path) -> list[Entry]:
    import pandas as pd  # half a second that --help and other sources do without

    lines = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    lines.columns = [name.strip() for name in lines.columns]
    odd = [name for name in lines.columns if name not in MANIFEST_COLUMNS]
    if odd:
        raise InputError(
            f"the manifest {path} has a column {odd[0]!r}",
            f"its columns are {', '.join(MANIFEST_COLUMNS)}; only file is needed",
        )
    entries = []
    for row, line in enumerate(lines.to_dict("records"), start=2):
        file = Path(line["file"].strip())
        if not line["file"].strip():
            raise InputError(f"line {row} of {path} names no file", "give one or drop the line")
        named = tuple(name.strip() for name in line.get("column", "").split(",") if name.strip())
        label = line.get("id", "").strip() or ":".join([str(file), *named])
        full = path.parent / file
        train = line.get("train", "").strip() or None
        entries.append(Entry(label, full, _stamp(full), named or None, train))
    if not entries:
        raise InputError(f"the manifest {path} is empty", "list one file a line")
    return entries


def _stamp(path: Path) -> str:
    try:
        facts = path.stat()
    except OSError:
        return "missing"  # said where it is read, beside the other failures
    return f"{facts.st_size}-{facts.st_mtime_ns}"
