"""Answers to requests that cannot be served: a status, the problem and its remedy."""

import errno
import re
from collections.abc import Iterable, Mapping

from starlette.responses import JSONResponse

from caps.errors import CapsError, InputError
from caps.wording import reworded

FULL = {errno.ENOSPC, errno.EDQUOT}


class Refusal(CapsError):
    """Raised anywhere while a request is served; becomes its answer."""

    def __init__(
        self, status: int, problem: str, remedy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(problem, remedy)
        self.status = status
        self.headers = headers or {}


def missing(what: str, name: str) -> Refusal:
    """Nothing of that name."""
    return Refusal(404, f"there is no {what} {name!r}", f"see the list of {what}s")


def taken(problem: str, remedy: str) -> Refusal:
    """The request contradicts what is there."""
    return Refusal(409, problem, remedy)


def busy(what: str, seconds: int = 1) -> Refusal:
    """The queue is full."""
    return Refusal(
        429, f"too many {what} are waiting", "try again later", {"Retry-After": str(seconds)}
    )


def disk_full() -> Refusal:
    """Nothing can be written; what was there stays."""
    return Refusal(507, "the disk of the service is full", "make room there, then send it again")


def answer(error: CapsError) -> JSONResponse:
    """What a client is told of an error raised on purpose."""
    if not isinstance(error, Refusal):
        status = 422 if isinstance(error, InputError) else 500
        problem, remedy = in_fields((error.problem, error.remedy))
        error = Refusal(status, problem, remedy)
    told = {"problem": error.problem, "remedy": error.remedy}
    return JSONResponse(told, error.status, error.headers)


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
