"""The lines of a CSV file that are no whole rows: blank ones and short ones.

pandas passes over blank lines, so that all later rows move up, and fills short ones with missing
values. Here both are found, with their line numbers.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TextIO

from caps.errors import InputError

MOST_NAMED = 3  # lines in a remark


class Body(io.TextIOBase):
    """A text to read without the line ends at its end: blank lines there are no rows."""

    def __init__(self, text: TextIO) -> None:
        self.text, self.held = text, ""

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def read(self, size: int | None = -1) -> str:
        """About `size` characters, nothing at the end."""
        while block := self.text.read(-1 if size is None else size):
            block = self.held + block
            body = block.rstrip("\r\n")
            self.held = block[len(body) :]
            if body:
                return body
        return ""


def blank_lines(
    text: TextIO, delimiter: str, rows: Iterable[int], skipped: int, header: bool, width: int
) -> dict[int, int]:
    """The lines of the blank ones among some ascending rows of a CSV file; a short one is an error.

    `skipped` lines were read already; `width` is how many fields a whole row has.
    """
    reader = csv.reader(text, delimiter=delimiter)
    found, fields, at = {}, list[str](), -2 if header else -1
    for row in rows:
        while at < row:
            fields, at = next(reader, fields), at + 1
        line = skipped + reader.line_num
        if _is_blank(fields, width):
            found[row] = line
        elif len(fields) < width:
            raise InputError(
                f"line {line} has {len(fields)} of {width} fields",
                "complete the line, or take it out: which of its values are missing is not known",
            )
    return found


def _is_blank(fields: list[str], width: int) -> bool:
    """Nothing or white space, where a row has more; a quoted nothing is a missing value."""
    return not fields or (len(fields) == 1 < width and not fields[0].strip())


def blank_remark(lines: Mapping[int, int], what: str) -> str:
    """A remark on blank lines, given by row.

    >>> blank_remark({0: 2, 4: 6}, "left out")
    '2 blank lines (lines 2, 6) are left out'
    """
    named = ", ".join(str(line) for line in list(lines.values())[:MOST_NAMED])
    more = ", ..." if len(lines) > MOST_NAMED else ""
    if len(lines) == 1:
        return f"1 blank line (line {named}) is {what}"
    return f"{len(lines)} blank lines (lines {named}{more}) are {what}"
