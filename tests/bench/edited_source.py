"""A copy of the source of CAPS that a test may edit."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from caps.bench.source_code import ROOT

Edit = Callable[[str, str, str], None]  # file, pattern and what to write for its first match


def edit_copy(copy: Path) -> Edit:
    """Copy the source, and return what edits a file of the copy."""
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return partial(_edit, copy)


def _edit(copy: Path, file: str, pattern: str, text: str) -> None:
    before = (copy / file).read_text(encoding="utf-8")
    after = re.sub(pattern, text, before, count=1, flags=re.MULTILINE)
    assert after != before
    (copy / file).write_text(after, encoding="utf-8")
