"""The errors CAPS raises on purpose. Each says what is wrong and names the remedy."""

from collections.abc import Iterable, Sequence


class CapsError(Exception):
    """Base of every error raised on purpose; `remedy` tells the user what to do.

    >>> print(InputError("the series has 3 rows, a window needs 256", "give at least 256 rows"))
    the series has 3 rows, a window needs 256: give at least 256 rows
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.problem = problem
        self.remedy = remedy


class InputError(CapsError, ValueError):
    """The data or the arguments given cannot be used as they are."""


class UnknownColumn(InputError):
    """The table has no columns of the names that were asked for."""

    def __init__(self, names: Sequence[str | int], known: Sequence[str]) -> None:
        super().__init__(f"there is no column {names[0]!r}", f"name some of {', '.join(known)}")
        self.names = tuple(names)


class ArtifactError(CapsError):
    """A file or folder written by CAPS is truncated, edited, foreign or of another version."""


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is none of those known.

    >>> check_known("sampler", "euler", ("ddpm", "ddim"))
    Traceback (most recent call last):
    ...
    caps.errors.InputError: there is no sampler 'euler': choose from ddpm, ddim
    """
    if name not in known:
        raise InputError(f"there is no {what} {name!r}", f"choose from {', '.join(known)}")
