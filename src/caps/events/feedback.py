"""What people said of events: "no incident" and "this was one", with the rows that it was about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self, get_args

import numpy as np

from caps.arrays import FloatArray
from caps.errors import ArtifactError, InputError

Verdict = Literal["normal", "incident"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MOST_ENTRIES = 1000
LONGEST_NOTE = 200  # characters
SAID = {"normal": "no incident", "incident": "incident"}


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """The rows of an event with their surroundings, in the units of the data."""

    channels: tuple[str, ...]
    values: FloatArray  # (time, channel), not-a-number where unobserved
    start: int  # of the event among the rows
    end: int  # exclusive

    def __post_init__(self) -> None:
        shape = self.values.shape
        if len(shape) != 2 or shape[1] != len(self.channels) or np.isinf(self.values).any():
            raise ValueError(f"values of shape {shape} for {len(self.channels)} channels")
        if not 0 <= self.start < self.end <= shape[0]:
            raise ValueError(f"rows {self.start} to {self.end} of {shape[0]}")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        columns = [
            [float(f"{each:.9g}") if np.isfinite(each) else None for each in column]
            for column in self.values.T.tolist()
        ]
        values = dict(zip(self.channels, columns, strict=True))
        return {"start": self.start, "end": self.end, "values": values}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """What `to_dict` described."""
        columns = [np.array(each, dtype=np.float64) for each in facts["values"].values()]
        values = np.stack(columns, axis=1)
        return cls(tuple(facts["values"]), values, int(facts["start"]), int(facts["end"]))


@dataclass(frozen=True, slots=True, eq=False)
class Feedback:
    """One judgement of an event."""

    id: str
    verdict: Verdict
    given: str  # when, as ISO text in UTC
    example: Example
    start: str | None  # of the event, in UTC; None where rows have no times
    end: str | None  # of its last row
    row: int  # of its start in the series it was found in
    kind: str | None = None  # that a person gave to an incident
    note: str = ""
    revoked: str | None = None  # when; None while it counts

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"the verdict {self.verdict!r}", f"give {' or '.join(VERDICTS)}")
        if len(self.note) > LONGEST_NOTE or len(self.kind or "") > LONGEST_NOTE:
            raise InputError("a long note or kind", f"give at most {LONGEST_NOTE} characters")
        if self.kind is not None and self.verdict == "normal":
            raise InputError("a kind for what was no incident", "leave the kind out")

    def __str__(self) -> str:
        lasting = self.example.end - self.example.start
        where = f"row {self.row:,}" if self.start is None else self.start.replace("T", " ")
        kind = f" ({self.kind})" if self.kind else ""
        note = f": {self.note}" if self.note else ""
        revoked = f" [revoked {self.revoked}]" if self.revoked else ""
        rows = f"{lasting:,} row{'' if lasting == 1 else 's'}"
        return f"{self.id} {SAID[self.verdict]}{kind}, {where}, {rows}{note}{revoked}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        return facts | {"example": self.example.to_dict()}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """What `to_dict` described."""
        return cls(**{**facts, "example": Example.from_dict(facts["example"])})


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackBook:
    """All feedback on a model, the oldest first; what was revoked stays to be seen.

    >>> example = Example(("load",), np.array([[1.0], [9.0], [1.0]]), 1, 2)
    >>> book = FeedbackBook().add("normal", example, row=40, note="backup", now="2024-05-01T08:00Z")
    >>> print(book.revoke("f1", now="2024-05-02T08:00Z").entries[0])
    f1 no incident, row 40, 1 row: backup [revoked 2024-05-02T08:00Z]
    """

    entries: tuple[Feedback, ...] = field(default=())

    def __iter__(self) -> Iterator[Feedback]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def active(self) -> tuple[Feedback, ...]:
        """What counts."""
        return tuple(each for each in self.entries if each.revoked is None)

    def add(
        self,
        verdict: Verdict,
        example: Example,
        *,
        row: int,
        start: str | None = None,
        end: str | None = None,
        kind: str | None = None,
        note: str = "",
        now: str | None = None,
    ) -> "FeedbackBook":
        """With one more, which counts before the older ones."""
        if len(self) >= MOST_ENTRIES:
            raise InputError(
                f"there are {MOST_ENTRIES} judgements already",
                "fit the model again on rows that hold what is normal now",
            )
        added = Feedback(
            f"f{len(self) + 1}", verdict, now or _now(), example, start, end, row, kind, note
        )
        return FeedbackBook((*self.entries, added))

    def revoke(self, id: str, *, now: str | None = None) -> "FeedbackBook":
        """Without what was said in one: everything is as if it had not been."""
        known = [each.id for each in self.active]
        if id not in known:
            some = ", ".join(known[-20:]) or "none so far"
            raise InputError(f"there is no feedback {id!r} that counts", f"name one of: {some}")
        when = now or _now()
        return FeedbackBook(
            tuple(replace(each, revoked=when) if each.id == id else each for each in self.entries)
        )

    def to_list(self) -> list[dict[str, Any]]:
        """As JSON values."""
        return [each.to_dict() for each in self.entries]

    @classmethod
    def from_list(cls, facts: Sequence[Mapping[str, Any]]) -> Self:
        """What `to_list` described; anything else is an ArtifactError."""
        try:
            entries = tuple(Feedback.from_dict(each) for each in facts)
            if [each.id for each in entries] != [f"f{k + 1}" for k in range(len(entries))]:
                raise ValueError("numbers that do not follow each other")
            return cls(entries)
        except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
            problem = f"feedback that cannot be read ({error})"
            raise ArtifactError(problem, "restore it, or leave it out") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
