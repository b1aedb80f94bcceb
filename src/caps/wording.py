"""Words that several places share: names in a row, and keyword arguments as a place calls them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

# Not after a letter, a quote or a slash: there it is part of a name or of a path.
_BEFORE, _VALUE = r"(?<![\w/'\"=-])", r"(\"[^\"\s]*\"|'[^'\s]*'|True\b|False\b|None\b)?"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a row, the rest counted.

    >>> listed(["host29", "host3", "host7", "host8"], 2)
    'host29, host3 and 2 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def reworded(
    text: str,
    say: Callable[[str, str], str],
    said: Mapping[re.Pattern[str], Callable[[re.Match[str]], str]],
) -> str:
    """A message with every mention of an option said by `say`, after the replacements of `said`.

    It is given the option's name and its value without quotes, empty if there is none.

    >>> reworded('give decimal=","', lambda name, value: f"{name} = {value}", {})
    'give decimal = ,'
    """
    for pattern, instead in said.items():
        text = pattern.sub(instead, text)
    return _mentions().sub(lambda found: say(found[1], (found[2] or "").strip("\"'")), text)


@cache
def _mentions() -> re.Pattern[str]:
    from caps.scoring import OPTIONS  # a fifth of a second that `caps --help` does without
    from caps.series import READ_OPTIONS

    offered = {name for name, option in OPTIONS.items() if option.given or option.off}
    names = "|".join(offered.union(READ_OPTIONS))
    return re.compile(rf"{_BEFORE}`?({names})={_VALUE}`?")
