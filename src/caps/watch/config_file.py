"""`caps.toml`, read as a whole: every problem is found, with its line and its remedy."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from caps.errors import InputError
from caps.planned import Planned, read_entry
from caps.scoring import OPTIONS, EventRules, FitOptions, alarm_rate
from caps.series import READ_OPTIONS, ReadOptions
from caps.watch.alerts import RANKS
from caps.watch.config import (
    FEWEST_VERSIONS,
    Refits,
    SeriesConfig,
    SinkConfig,
    SourceConfig,
    WatchConfig,
    listen_address,
    read_secret,
    seconds_in,
)
from caps.watch.web import check_address

KEY = re.compile(r'\s*(?P<key>[\w-]+|"[^"]*")\s*=')
TABLE = re.compile(r"\s*(?P<many>\[\[|\[)\s*(?P<name>[\w.\"-]+)\s*\]")
Where = tuple[str | int, ...]  # a table, perhaps by its number, and a key
Checks = Mapping[str, Callable[[Any], Any]]
Made = TypeVar("Made")
EXAMPLE_STEP = np.timedelta64(1, "m")  # for budgets a day or a week, until a model has its own


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a line, and what to write instead."""

    line: int
    what: str
    remedy: str


class ConfigError(InputError):
    """A configuration with problems, all of them."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        first, more = problems[0], len(problems) - 1
        rest = f" (and {more} more: see caps config check {path})" if more else ""
        super().__init__(f"{path}:{first.line}: {first.what}{rest}", first.remedy)
        self.problems = tuple(problems)


class _Odd(Exception):
    """A value that cannot be used: what it is, and what would do."""


def read_config(path: Path) -> WatchConfig:
    """The configuration in a file; raises `ConfigError` with every problem in it."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})", "name a TOML file") from None
    try:
        tables = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else len(content.splitlines())
        raise ConfigError(path, [Problem(line, f"no TOML: {error}", "correct the line")]) from None
    return _Reading(path, tables, line_numbers(content)).config()


def line_numbers(content: str) -> dict[Where, int]:
    """The line of every table and key.

    >>> line_numbers('alarms = "1/day"\\n[[sinks]]\\nurl = "http://a"\\n')
    {('alarms',): 1, ('sinks', 0): 2, ('sinks', 0, 'url'): 3}
    """
    lines, found = content.splitlines(), {}
    prefix: Where = ()
    count: dict[str, int] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        if table := TABLE.match(line):
            name = table["name"]
            if table["many"] == "[[":
                prefix = (name, count.setdefault(name, 0))
                count[name] += 1
            else:
                prefix = tuple(part.strip('"') for part in name.split("."))
            found[prefix] = number + 1
        elif key := KEY.match(line):
            found[(*prefix, key["key"].strip('"'))] = number + 1
            number += _rows_of_value(lines[number:]) - 1
        number += 1
    return found


def _rows_of_value(lines: list[str]) -> int:
    """How many lines a key with its value takes."""
    for count in range(1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        return count
    return 1


class _Reading:
    """Takes a parsed file apart, table by table, and gathers what is wrong."""

    def __init__(self, path: Path, tables: dict[str, Any], lines: dict[Where, int]) -> None:
        self.path, self.tables, self.lines = path, tables, lines
        self.problems: list[Problem] = []

    def config(self) -> WatchConfig:
        self._known((), self.tables, {*TOP, *MANY, *ONE})
        tops = self._table(
            (), TOP, {name: self.tables[name] for name in TOP if name in self.tables}
        )
        given: dict[str, Any] = {"alarms": tops.get("alarms")}
        watch = self._table(("watch",), WATCH, self._one("watch"))
        fit = dict(self._one("fit"))
        out = self._table(("fit",), {"out": self._path}, {"out": fit.pop("out", "fleet")})
        given |= watch | {"fit": self._fit(fit), "fit_out": out.get("out")}
        given["models"] = watch.get("models") or out["out"] / "models"
        given["rules"] = self._rules(self._one("rules"))
        refits = self._table(("refits",), REFITS, self._one("refits"))
        given["refits"] = Refits(**refits)
        for name, read in (
            ("sources", self._source), ("sinks", self._sink), ("series", self._series),
        ):  # fmt: skip
            found = [read(index, each) for index, each in self._many(name)]
            given[name] = tuple(each for each in found if each is not None)
        given |= self._planned()
        self._names_differ("sources", given["sources"])
        self._names_differ("sinks", given["sinks"])
        if not given["sources"] and not self.problems:
            self._wrong((), "there is no [[sources]]", "add one with prometheus = or file =")
        if self.problems:
            raise ConfigError(self.path, sorted(self.problems, key=lambda each: each.line))
        return WatchConfig(path=self.path, **given)

    def _wrong(self, where: Where, what: str, remedy: str) -> None:
        outwards = (where[:size] for size in range(len(where), 0, -1))
        line = next((self.lines[each] for each in outwards if each in self.lines), 1)
        self.problems.append(Problem(line, what, remedy))

    def _made(self, where: Where, make: Callable[[], Made]) -> Made | None:
        """What is made; where that is refused, it is a problem of that place."""
        try:
            return make()
        except InputError as error:
            self._wrong(where, error.problem, error.remedy)
            return None

    def _known(self, where: Where, table: Mapping[str, Any], known: set[str]) -> None:
        for name in table:
            if name not in known:
                of = f" in [{where[0]}]" if where else ""
                what = f"there is no setting {name!r}{of}"
                self._wrong((*where, name), what, f"choose from {', '.join(sorted(known))}")

    def _one(self, name: str) -> dict[str, Any]:
        table = self.tables.get(name, {})
        if isinstance(table, dict):
            return table
        self._wrong((name,), f"{name} is no table", f"write [{name}]")
        return {}

    def _many(self, name: str) -> list[tuple[int, dict[str, Any]]]:
        tables = self.tables.get(name, [])
        if isinstance(tables, list) and all(isinstance(each, dict) for each in tables):
            return list(enumerate(tables))
        self._wrong((name,), f"{name} is no list of tables", f"write [[{name}]]")
        return []

    def _table(self, where: Where, fields: Checks, table: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a table, each checked and converted."""
        self._known(where, table, set(fields))
        found = {}
        for name, value in table.items():
            if name not in fields:
                continue
            try:
                converted = fields[name](value)
                found[name] = self._path(converted) if name in PATHS else converted
            except _Odd as odd:
                self._wrong((*where, name), f"{name} is {value!r}", f"give {odd}")
            except InputError as error:
                self._wrong((*where, name), f"{name}: {error.problem}", error.remedy)
        return found

    def _path(self, text: Any) -> Path:
        return self.path.parent / _text(text)

    def _source(self, index: int, table: dict[str, Any]) -> SourceConfig | None:
        where = ("sources", index)
        reading = {name: table[name] for name in READING if name in table}
        rest = {name: value for name, value in table.items() if name not in reading}
        found = self._table(where, SOURCE, rest)
        query = found.pop("query", None)
        if query is not None:
            found["queries"] = {"value": query, **found.get("queries", {})}
        prometheus, file = found.get("prometheus"), found.get("file")
        if (prometheus is None) == (file is None):
            self._wrong(where, "a source needs a server or a file", "give prometheus = or file =")
            return None
        if prometheus is not None and not found.get("queries"):
            self._wrong(where, "prometheus without a query", "give query = or queries =")
            return None
        if file is not None and file != "-":
            found["file"] = str(self._path(file))
        return self._made(where, lambda: SourceConfig(**found, reading=ReadOptions(**reading)))

    def _sink(self, index: int, table: dict[str, Any]) -> SinkConfig | None:
        where = ("sinks", index)
        found = self._table(where, SINK, table)
        for name in ("kind", "url"):
            if name not in table:
                self._wrong(where, f"a sink has no {name}", f"give {name} =")
        secret = found.pop("secret_file", None)
        if secret is not None:
            path = self._path(secret)
            found["secret"] = self._made((*where, "secret_file"), lambda: read_secret(path))
        if found.get("secret") and found.get("kind") != "webhook":
            self._wrong((*where, "secret_file"), "only webhooks are signed", "leave it out")
        if "kind" not in found or "url" not in found:
            return None
        return SinkConfig(**{"name": found["kind"], **found})

    def _series(self, index: int, table: dict[str, Any]) -> SeriesConfig | None:
        found = self._table(("series", index), SERIES, table)
        if "match" not in table:
            self._wrong(("series", index), "series without match", 'give match = "*db*"')
        return SeriesConfig(**found) if "match" in found else None

    def _planned(self) -> dict[str, Any]:
        """Those of the tables, or of the file that is named instead."""
        if isinstance(named := self.tables.get("planned"), str) and named:
            path = self._path(named)
            planned = self._made(("planned",), lambda: Planned.read(path))
            return {} if planned is None else {"planned": planned, "planned_file": path}
        entries = [
            self._made(("planned", index), partial(read_entry, table, index + 1))
            for index, table in self._many("planned")
        ]
        return {"planned": Planned(tuple(each for each in entries if each is not None))}

    def _rules(self, table: dict[str, Any]) -> EventRules | None:
        found = self._table(("rules",), RULES, table)
        return self._made(("rules",), lambda: EventRules(**found)) if found else None

    def _fit(self, table: dict[str, Any]) -> dict[str, Any]:
        known = {
            name for name, option in OPTIONS.items() if option.given or option.on or option.off
        }
        self._known(("fit",), table, {*known, "out"})
        found = {}
        for name, value in table.items():
            if name not in known:
                continue
            option, chosen = OPTIONS[name], value
            if option.on and isinstance(value, bool):
                chosen = option.on_value if value else option.default
            if self._made(("fit", name), partial(FitOptions, **{name: chosen})) is not None:
                found[name] = chosen
        return found

    def _names_differ(self, what: str, found: tuple[Any, ...]) -> None:
        names: set[str] = set()
        for index, each in enumerate(found):
            if each.name in names:
                called = f"are called {each.name!r}" if each.name else "have no name"
                remedy = "give each a name = of its own"
                self._wrong((what, index), f"two {what} {called}", remedy)
            names.add(each.name)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Odd("a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Odd("true or false")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Odd("a whole number from 0 on")
    return value


def _versions(value: Any) -> int:
    if _whole(value) < FEWEST_VERSIONS:
        raise _Odd(f"a whole number from {FEWEST_VERSIONS} on: one has to be left to go back to")
    return int(value)


def _length(value: Any) -> float:
    return seconds_in(_text(value))


def _lasting(value: Any) -> float:
    if not (seconds := _length(value)):
        raise _Odd("a time above 0, such as 1m")
    return seconds


def _rows_or_length(value: Any) -> int | float:
    return _whole(value) if isinstance(value, int) else _length(value)


def _recovery(value: Any) -> int | np.timedelta64:
    found = _rows_or_length(value)
    return found if isinstance(found, int) else np.timedelta64(round(found * 1e9), "ns")


def _budget(value: Any) -> str:
    alarm_rate(_text(value), EXAMPLE_STEP)
    return str(value)


def _address(value: Any) -> str:
    return check_address(_text(value), "the address")


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise _Odd('a table of texts, such as { cpu = "rate(cpu[5m])" }')
    return dict(value)


def _choice(*known: str) -> Callable[[Any], str]:
    def choice(value: Any) -> str:
        if value not in known:
            raise _Odd(f"one of {', '.join(known)}")
        return cast(str, value)

    return choice


TOP: Checks = {"alarms": _budget}
ONE, MANY = ("watch", "fit", "rules", "refits"), ("sources", "sinks", "series", "planned")
PATHS = {"models", "state"}
WATCH: Checks = {
    "models": _text, "state": _text, "listen": lambda value: listen_address(_text(value)),
    "save_every": _length, "lateness": _whole, "recovery": _recovery, "no_data": _rows_or_length,
    "forget": _lasting, "updates": _flag,
}  # fmt: skip
SOURCE: Checks = {
    "name": _text, "prometheus": _address, "query": _text, "queries": _texts, "step": _lasting,
    "since": _length, "delay": _length, "lookback": _lasting, "file": _text, "follow": _flag,
    "id": _text, "time": _text,
}  # fmt: skip
READING = {"unit", "time_format", "timezone", "decimal", "thousands"} & set(READ_OPTIONS)
SINK: Checks = {
    "kind": _choice("alertmanager", "webhook", "slack"), "url": _address, "name": _text,
    "secret_file": _text, "least_severity": _choice(*RANKS), "match": _text, "labels": _texts,
    "resend": _lasting, "settle": _length,
}  # fmt: skip
RULES: Checks = dict.fromkeys(("merge_gap", "minimum_length", "cool_down"), _whole)
SERIES: Checks = {"match": _text, "alarms": _budget, "ignore": _flag}
REFITS: Checks = {
    "every": _lasting, "on_drift": _flag, "keep": _versions, "review": _flag,
}  # fmt: skip
