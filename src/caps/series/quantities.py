"""Numbers as people write them: decimal commas, marked thousands, units."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from caps.arrays import FloatArray

MISSING_WORDS = frozenset({"", "-nan", "#n/a", "<na>", "n/a", "na", "nan", "nat", "none", "null"})
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?", re.IGNORECASE)
_QUANTITY = re.compile(r"([-+]?[\d.,]*\d(?:[eE][-+]?\d+)?)\s*([^\d\s.,+-]\D{0,15})")
OTHER_MARK = {".": ",", ",": "."}


@dataclass(frozen=True, slots=True)
class Marks:
    """How numbers are written in text.

    With `either` nobody has said how, and no field ends at a comma: a column may show it by itself.
    """

    decimal: str = "."
    thousands: str | None = None
    either: bool = False

    def number(self, text: str) -> float | None:
        """The number a text stands for, None if it is none."""
        if self.thousands is not None and self.thousands in text:
            if not _grouped(self.thousands, self.decimal).fullmatch(text):
                return None
            text = text.replace(self.thousands, "")
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        return float(text) if _PLAIN.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class Quantities:
    """Numbers that were read from text, and a remark on how."""

    values: FloatArray
    remark: str = ""


@cache
def _grouped(thousands: str, decimal: str) -> re.Pattern[str]:
    mark, point = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"[-+]?[1-9]\d{{0,2}}({mark}\d{{3}})+({point}\d*)?")


@cache
def _only_grouped(thousands: str, decimal: str) -> re.Pattern[str]:
    """Grouped in a way that leaves nothing else to mean: two marks, or one and a decimal mark."""
    mark, point = re.escape(thousands), re.escape(decimal)
    return re.compile(
        rf"[-+]?[1-9]\d{{0,2}}({mark}\d{{3}})(({mark}\d{{3}})+({point}\d*)?|{point}\d*)"
    )


def may_be_grouped(text: str) -> bool:
    """Whether a comma in a number may mark thousands: 1,000, but not 0,5 or 12,34."""
    return _grouped(",", ".").fullmatch(_split(text)[0]) is not None


def has_comma(text: str) -> bool:
    """Whether it is a number with a comma that may be its decimal mark.

    >>> has_comma("50,25"), has_comma("1.234,5"), has_comma("50,25 %"), has_comma("a,b")
    (True, True, True, False)
    """
    number = _split(text)[0]
    grouped = Marks(",", ".").number(number)
    return "," in number and grouped is not None


def has_point(text: str) -> bool:
    """Whether it is a number with a decimal point."""
    number = _split(text)[0]
    return "." in number and _PLAIN.fullmatch(number) is not None


def read_quantities(texts: Sequence[str], marks: Marks) -> Quantities | None:
    """Texts that are all numbers, in some way that is certain; None if there is none.

    >>> read_quantities(["950", "1.2 K"], Marks()).values.tolist()
    [950.0, 1200.0]
    >>> read_quantities(["1,234.5", "900"], Marks()).values.tolist()
    [1234.5, 900.0]
    >>> read_quantities(["1,000"], Marks()) is None
    True
    """
    pairs = [_split(text) for text in texts]
    for attempt in _attempts([number for number, _ in pairs], marks):
        numbers = [attempt.number(number) for number, _ in pairs]
        if all(number is not None for number in numbers):
            remark = "" if attempt == marks else _marks_remark(attempt, pairs)
            return _in_base(
                np.array(numbers, dtype=np.float64), [unit for _, unit in pairs], remark
            )
    return None


def _attempts(numbers: Sequence[str], marks: Marks) -> Iterable[Marks]:
    """Ways to read the numbers, none of which can be mistaken for another."""
    yield marks
    other = OTHER_MARK.get(marks.decimal)
    if marks.thousands is None and other is not None:
        certain = _only_grouped(other, marks.decimal)
        if any(certain.fullmatch(number) for number in numbers):
            yield Marks(marks.decimal, other)
    if marks.either and any("," in number and not may_be_grouped(number) for number in numbers):
        yield Marks(",")


def _marks_remark(marks: Marks, pairs: Sequence[tuple[str, str]]) -> str:
    mark, what = (",", "decimal") if marks.thousands is None else (marks.thousands, "thousands")
    shown = next(number for number, _ in pairs if mark in number)
    return f"reads {shown!r} as {marks.number(shown):.10g} ({what} {_NAMES[mark]})"


_NAMES = {",": "comma", ".": "point"}


def _split(text: str) -> tuple[str, str]:
    """Number and unit."""
    stripped = text.strip()
    found = _QUANTITY.fullmatch(stripped)
    return (found[1], found[2].strip()) if found else (stripped, "")


def _in_base(values: FloatArray, units: Sequence[str], remark: str) -> Quantities | None:
    """The values in the unit that all of theirs are multiples of."""
    found = sorted(set(units) - {""})
    if not found:
        return Quantities(values, remark)
    for base, factors in _families().items():
        if factors.keys() >= set(units):
            scale = np.array([factors[unit] for unit in units])
            written = f"is written in {', '.join(found)}"
            if [base] != found:
                written += f", and read {f'in {base}' if base else 'as plain numbers'}"
            return Quantities(values * scale, " and ".join(filter(None, (written, remark))))
    return None


_BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_LARGE = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SMALL = {"m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9}
_SHORT = {"": 1.0, "K": 1e3, "Mil": 1e6, "Bil": 1e9, "Tri": 1e12, "Quadr": 1e15}
_SECONDS = {
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600.0),
    **dict.fromkeys(("min", "mins", "m"), 60.0),
    **dict.fromkeys(("s", "sec"), 1.0),
    **dict.fromkeys(("µs", "μs", "us"), 1e-6),
    "ms": 1e-3,
    "ns": 1e-9,
}
_PER_SECOND = (
    "req/s", "reqs/s", "c/s", "ops/s", "rd/s", "wr/s", "io/s", "p/s", "evt/s", "mess/s", "rows/s",
    "rps", "wps", "pps", "cps", "ops", "reqps", "iops", "eps",
)  # fmt: skip
_MEASURED = ("Hz", "W", "Wh", "V", "A", "VA", "J", "Pa", "m", "g", "l", "L", "eV")
_ALONE = (
    "%", "°C", "°F", "°", "C", "F", "ppm", "dB", "dBm", "rpm", "bar", "lx", "lux", "km/h", "m/s",
    "m³", "kWh", "€", "$",
)  # fmt: skip


@cache
def _families() -> Mapping[str, Mapping[str, float]]:
    """Units that are multiples of one another, by the unit that values are read in."""
    families: dict[str, dict[str, float]] = {}
    for end in ("", "/s", "ps"):
        prefixes = _BINARY | _LARGE
        families[f"B{end}"] = {f"{prefix}B{end}": size for prefix, size in prefixes.items()}
        families[f"b{end}"] = {f"{prefix}b{end}": size for prefix, size in prefixes.items()}
    families["s"] = _SECONDS
    for unit in _PER_SECOND:
        families[unit] = {f"{prefix} {unit}".strip(): size for prefix, size in _SHORT.items()}
        families[unit] |= {f"{prefix}{unit}": size for prefix, size in _LARGE.items()}
    for unit in _MEASURED:
        families[unit] = {f"{each}{unit}": size for each, size in (_LARGE | _SMALL).items()}
    for unit in _ALONE:
        families[unit] = {unit: 1.0}
    families[""] = _SHORT | _LARGE | _SMALL  # Grafana's short numbers
    return families
