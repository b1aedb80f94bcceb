"""What the library says, in the words of the service: fields instead of keywords."""

import re
from collections.abc import Iterable

from caps.wording import reworded


def in_fields(texts: Iterable[str]) -> list[str]:
    """Texts that name fields of requests and of the page instead of keywords.

    >>> in_fields(["give sort=True (time=False if this is no time column)"])
    ["give 'sort' ('no time' if this is no time column)"]
    """
    return [reworded(text, _field, _SAID) for text in texts]


def _field(name: str, value: str) -> str:
    label = name.replace("_", " ")
    if value == "False":
        return f"'no {label}'"
    return f"'{label}'" + (f" {value}" if value not in ("", "True") else "")


_SAID = {
    re.compile(r"(use )?read_many\(id=(\.\.\.|.*?, value=.*)\)"): lambda found: (
        "upload each series as a file of its own"
    ),
    re.compile(r" \(caps fit --causal\)"): lambda found: "",
}
