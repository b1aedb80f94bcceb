"""Every option of reading a table, once: type, default, help; for Python, commands and HTTP.

A field added here is a keyword argument of `read`, an option of every command that reads a series,
a field of uploads and part of saved models.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Self, get_args, get_type_hints

from caps.configuration import check_keys
from caps.errors import InputError
from caps.series.quantities import Marks

Duplicates = Literal["error", "keep", "first", "last"]
Unit = Literal["s", "ms", "us", "ns"]
DUPLICATES: tuple[Duplicates, ...] = get_args(Duplicates)
UNITS: tuple[Unit, ...] = get_args(Unit)
_NO_MARKS = '\r\n\0"' + string.ascii_letters + string.digits
_SPOKEN = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}  # which shells make hard


@dataclass(frozen=True, slots=True)
class ReadOption:
    """What is to be known of an option beside its name."""

    help: str
    given: Any = None  # its type in commands and requests; that of its field if left out
    default: Any = None  # that of its field


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a table is read, apart from its columns; what is left out is recognised.

    >>> ReadOptions(decimal=",").given()
    {'decimal': ','}
    >>> ReadOptions.from_dict(ReadOptions(exclude=("host",)).to_dict()).exclude
    ('host',)
    """

    exclude: Annotated[
        tuple[str | int, ...],
        ReadOption("Columns to leave out, in a command separated by commas.", str | None),
    ] = ()
    sort: Annotated[bool, ReadOption("Put the rows in order of time.")] = False
    duplicates: Annotated[
        Duplicates,
        ReadOption("Of rows with the same time take the first, the last, or keep all."),
    ] = "error"
    unit: Annotated[
        Unit | None,
        ReadOption("Unit of times that are numbers since 1970; by their size if left out."),
    ] = None
    time_format: Annotated[
        str | None, ReadOption("How times are written, as for strftime: %d.%m.%Y %H:%M.")
    ] = None
    timezone: Annotated[
        str | None, ReadOption("Where the clock of times without a zone hangs: Europe/Berlin.")
    ] = None
    delimiter: Annotated[
        str | None, ReadOption("Character between the fields of a CSV file; tab for a tab.")
    ] = None
    decimal: Annotated[
        str | None,
        ReadOption("Decimal mark of numbers: a point, or the comma where it cannot be else."),
    ] = None
    thousands: Annotated[
        str | None, ReadOption("Mark between the thousands of numbers, such as the comma in 1,000.")
    ] = None
    header: Annotated[
        bool | None, ReadOption("Whether the first line of a CSV file names the columns.")
    ] = None
    encoding: Annotated[str, ReadOption("Of a CSV file, such as cp1252 or utf-16.")] = "utf-8"

    def __post_init__(self) -> None:
        exclude = (self.exclude,) if isinstance(self.exclude, str | int) else self.exclude
        object.__setattr__(self, "exclude", tuple(exclude or ()))
        for name in ("delimiter", "decimal", "thousands"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, _SPOKEN.get(value, value))
        for name, (holds, remedy) in self._rules().items():
            if not holds:
                raise InputError(f"{name}={getattr(self, name)!r} cannot be used", remedy)
        if self.timezone is not None:
            check_zone(self.timezone)

    def _rules(self) -> dict[str, tuple[bool, str]]:
        """For options of few or short values: whether theirs will do, and what else would."""
        # Commas in quotes can be delimiters and decimal marks; other marks never are both.
        cuts_decimals = self.decimal == self.delimiter and self.decimal != ","
        groups_decimals = self.thousands == (self.decimal or ".")
        return {
            "sort": (isinstance(self.sort, bool), "give True or False"),
            "duplicates": (self.duplicates in DUPLICATES, f"give one of {', '.join(DUPLICATES)}"),
            "unit": (self.unit in (None, *UNITS), f"give one of {', '.join(UNITS)}"),
            "delimiter": (_is_mark(self.delimiter), "give one character, such as ; or a tab"),
            "decimal": (
                _is_mark(self.decimal) and not (self.decimal and cuts_decimals),
                "give one character that is not the delimiter, such as , or .",
            ),
            "thousands": (
                _is_mark(self.thousands) and not groups_decimals,
                "give one character that is not the decimal mark, such as , or .",
            ),
            "header": (self.header in (None, True, False), "give True, False or None"),
            "encoding": (isinstance(self.encoding, str), 'give a name such as "utf-8" or "cp1252"'),
        }

    @property
    def marks(self) -> Marks:
        """How numbers are written in a table that is no file."""
        return Marks(self.decimal or ".", self.thousands)

    def given(self) -> dict[str, Any]:
        """What differs from the defaults, as `read` takes it."""
        return {
            name: getattr(self, name)
            for name, option in READ_OPTIONS.items()
            if getattr(self, name) != option.default
        }

    def over(self, older: Self) -> Self:
        """These options, and those of `older` where these say nothing."""
        return type(self)(**older.given() | self.given())

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives them back."""
        return {**{name: getattr(self, name) for name in READ_OPTIONS}, "exclude": [*self.exclude]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The options that `to_dict` described; other or missing keys are errors."""
        check_keys(facts, cls, "reading options")
        return cls(**facts)


def check_zone(zone: object) -> None:
    """Refuse what is no time zone."""
    import pandas as pd  # half a second that arrays do without

    try:
        if not isinstance(zone, str):
            raise ValueError
        pd.Timestamp(0, tz=zone)
    except (LookupError, ValueError, OSError):
        raise InputError(
            f"timezone={zone!r} is unknown", "give a name such as Europe/Berlin or UTC"
        ) from None


def _is_mark(text: object) -> bool:
    """Whether it is one character that can stand between or inside numbers, or none is given."""
    if text is None:
        return True
    return isinstance(text, str) and len(text) == 1 and text.isascii() and text not in _NO_MARKS


_HINTS = get_type_hints(ReadOptions, include_extras=True)
READ_OPTIONS: Mapping[str, ReadOption] = {
    each.name: replace(option, given=option.given or kind, default=each.default)
    for each in fields(ReadOptions)
    for kind, option in [get_args(_HINTS[each.name])]
}
