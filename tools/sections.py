"""Tables that a command measures and writes into a page, between two marks."""

import os
import platform
from pathlib import Path

import numpy as np

Rows = list[tuple[str, ...]]


def markdown(header: tuple[str, ...], rows: Rows) -> str:
    """A table in Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rewrite(document: Path, name: str, text: str) -> None:
    """Put the text between the marks `name: begin` and `name: end` of a page."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, rest = document.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def machine() -> str:
    """What the measurements ran on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].split(":")[1].strip() if names else model
    return (
        f"{model}, {os.cpu_count()} cores; "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )
