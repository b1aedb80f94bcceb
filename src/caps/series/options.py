"""Every option of reading a table, once: type, default, help; for Python, commands and HTTP.

A field added here is a keyword argument of `read`, an option of every command that reads a series,
a field of uploads and part of saved models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args

from caps.configuration import check_keys
from caps.errors import InputError

Duplicates = Literal["error", "keep", "first", "last"]
Unit = Literal["s", "ms", "us", "ns"]
DUPLICATES: tuple[Duplicates, ...] = get_args(Duplicates)
_SPOKEN = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}  # which shells make hard


@dataclass(frozen=True, slots=True)
class ReadOption:
    """What is to be known of an option beside its name."""

    help: str
    given: Any  # its type in commands and requests
    default: Any = None  # that of its field


def _option(given: Any, help: str) -> dict[str, ReadOption]:
    return {"option": ReadOption(help, given)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a table is read, apart from its columns; what is left out is recognised.

    >>> ReadOptions(decimal=",").given()
    {'decimal': ','}
    >>> ReadOptions.from_dict(ReadOptions(exclude=("host",)).to_dict()).exclude
    ('host',)
    """

    exclude: tuple[str | int, ...] = field(
        default=(),
        metadata=_option(str | None, "Columns to leave out, in a command separated by commas."),
    )
    sort: bool = field(default=False, metadata=_option(bool, "Put the rows in order of time."))
    duplicates: Duplicates = field(
        default="error",
        metadata=_option(
            Duplicates, "Of rows with the same time take the first, the last, or keep all."
        ),
    )
    unit: Unit | None = field(
        default=None,
        metadata=_option(
            Unit | None, "Unit of times that are numbers since 1970; by their size if left out."
        ),
    )
    time_format: str | None = field(
        default=None,
        metadata=_option(str | None, "How times are written, as for strftime: %d.%m.%Y %H:%M."),
    )
    timezone: str | None = field(
        default=None,
        metadata=_option(
            str | None, "Where the clock of times without a zone hangs: Europe/Berlin."
        ),
    )
    delimiter: str | None = field(
        default=None,
        metadata=_option(str | None, "Character between the fields of a CSV file; tab for a tab."),
    )
    decimal: str | None = field(
        default=None,
        metadata=_option(
            str | None, "Decimal mark of numbers: a point, or the comma where it cannot be else."
        ),
    )
    thousands: str | None = field(
        default=None,
        metadata=_option(
            str | None, "Mark between the thousands of numbers, such as the comma in 1,000."
        ),
    )
    header: bool | None = field(
        default=None,
        metadata=_option(bool | None, "Whether the first line of a CSV file names the columns."),
    )
    encoding: str = field(
        default="utf-8", metadata=_option(str, "Of a CSV file, such as cp1252 or utf-16.")
    )

    def __post_init__(self) -> None:
        exclude = (self.exclude,) if isinstance(self.exclude, str | int) else self.exclude
        object.__setattr__(self, "exclude", tuple(exclude or ()))
        for name in ("delimiter", "decimal", "thousands"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, _SPOKEN.get(value, value))
        if not isinstance(self.sort, bool):
            raise InputError(f"sort={self.sort!r}", "give True or False")
        if self.duplicates not in DUPLICATES:
            raise InputError(
                f"duplicates={self.duplicates!r} is unknown", f"give one of {', '.join(DUPLICATES)}"
            )

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


READ_OPTIONS: Mapping[str, ReadOption] = {
    each.name: replace(each.metadata["option"], default=each.default)
    for each in fields(ReadOptions)
}
