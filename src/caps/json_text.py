"""JSON that was read from a file: what Python's own reader lets through or fails on is refused."""

import json
from typing import Any

LONGEST = 308  # digits that a float can hold


def parse_json(text: str | bytes) -> Any:
    """The value in the text; `ValueError` for anything that is not sound JSON.

    >>> parse_json('{"rows": 12}')
    {'rows': 12}
    >>> parse_json("9" * 400)
    Traceback (most recent call last):
    ...
    ValueError: a number of 400 digits
    """
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _whole(digits: str) -> int:
    # Beyond, Python has integers where every other number is a float: they overflow somewhere.
    if len(digits) > LONGEST:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)
