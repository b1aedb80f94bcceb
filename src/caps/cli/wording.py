"""What the library says, in the words of the command line: options instead of keywords.

The library names its keyword arguments in remedies and notes (`sort=True`); whoever types commands
needs the option (`--sort`).
"""

import re
from collections.abc import Iterable
from typing import Any

from caps.wording import reworded


def in_options(texts: Iterable[str]) -> list[str]:
    """Texts with options instead of keywords.

    >>> in_options(['give sort=True or time_format= (such as "%d.%m.%Y")'])
    ['give --sort or --time-format (such as "%d.%m.%Y")']
    """
    return [reworded(text, _option, _SAID) for text in texts]


def _option(name: str, value: str) -> str:
    option = f"--{name.replace('_', '-')}"
    if value == "False":
        return option.replace("--", "--no-", 1)
    return option if value in ("", "True", _on(name)) else f"{option} {value}"


def _on(name: str) -> Any:
    """The value that an option without one gives."""
    from caps.scoring import OPTIONS  # a fifth of a second that `caps --help` does without

    return OPTIONS[name].on_value if name in OPTIONS else None


def _fleet(found: re.Match[str]) -> str:
    """The command that reads a long table."""
    columns = ",".join(re.findall(r'"(.*?)"', found[2])) or "COLUMN"
    return f"caps fleet fit FILE --id '{found[1]}' --columns '{columns}' --out FOLDER"


_SAID = {
    re.compile(r'read_many\(id="(.*)", value=(.*)\)'): _fleet,
    re.compile(r"read_many\(id=\.\.\.\)"): lambda found: "caps fleet fit FILE --id COLUMN",
    re.compile(r" \(caps fit --causal\)"): lambda found: "",
}
