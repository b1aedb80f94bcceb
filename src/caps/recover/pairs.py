"""`PairSet`: references and their counterparts with known supports, what a detector learns from."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from caps.errors import InputError

NO_MODE = -1  # of counterparts that a rule made
OF_COUNTERPARTS = ("counterpart", "support", "mode", "anchor")  # one row for each
# Whether an effect shows: a positive label on no change would only be label noise.
SURROUNDINGS = 32  # steps on either side of a support that count as its surroundings
LEAST_STD = 0.1  # of the whole series, whose std is 1: flat windows still have a scale
LEAST = 0.1  # root-mean-square of an effect in its support, in local stds


@dataclass(frozen=True, slots=True, eq=False)
class PairSet:
    """(x, 0) for every reference and (x^, m) for every counterpart: the set P^_tar.

    References are kept once; `anchor` says which one a counterpart was made from. Points that are
    not `trusted` should weigh nothing in training, neither in a reference nor in its counterparts.

    >>> x = np.zeros((2, 4), np.float32)
    >>> spike = np.array([[0, 0, 3, 0]], np.float32)
    >>> pairs = PairSet(x, spike, spike > 0, np.array([0]), np.array([1]), np.ones((2, 4), bool))
    >>> len(pairs), pairs.residual.tolist()
    (1, [[0.0, 0.0, 3.0, 0.0]])
    """

    reference: np.ndarray  # (n, time) float32, x
    counterpart: np.ndarray  # (N, time) float32, x^ = x + r^
    support: np.ndarray  # (N, time) bool, m
    mode: np.ndarray  # (N,) int64, k; NO_MODE where a rule made the counterpart
    anchor: np.ndarray  # (N,) int64, row of `reference`
    trusted: np.ndarray  # (n, time) bool, of the references

    def __post_init__(self) -> None:
        count, window = self.counterpart.shape
        for name in OF_COUNTERPARTS:
            if len(getattr(self, name)) != count:
                raise InputError(f"{name} does not fit {count} counterparts", "give one for each")
        if self.support.shape != (count, window) or self.reference.shape[1] != window:
            raise InputError("windows of different lengths in one set of pairs", "use one length")
        if self.trusted.shape != self.reference.shape:
            raise InputError("trusted does not fit the references", "give a mark for each point")

    def __len__(self) -> int:
        return len(self.counterpart)

    def __getitem__(self, rows: np.ndarray | slice | Sequence[int]) -> "PairSet":
        """Some of the counterparts, with all references."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        return replace(self, **{name: getattr(self, name)[rows] for name in OF_COUNTERPARTS})

    @property
    def residual(self) -> np.ndarray:
        """r^ = x^ - x of every counterpart (N, time)."""
        return np.asarray(self.counterpart - self.reference[self.anchor])

    def combine(self, more: "PairSet") -> "PairSet":
        """With other counterparts of the same references.

        >>> x = np.zeros((1, 4), np.float32)
        >>> pairs = PairSet(x, x + 1, x + 1 > 0, np.array([0]), np.array([0]), x == 0)
        >>> len(pairs.combine(pairs)), len(pairs.combine(pairs).reference)
        (2, 1)
        """
        if not np.array_equal(self.reference, more.reference):
            raise InputError("pairs of other references", "use PairSet.concatenate")
        joined = {name: _joined([self, more], name) for name in OF_COUNTERPARTS}
        return replace(self, **joined)

    @staticmethod
    def concatenate(sets: Sequence["PairSet"]) -> "PairSet":
        """All references and counterparts of several sets, in order."""
        offsets = np.cumsum([0, *(len(pairs.reference) for pairs in sets[:-1])])
        moved = [
            replace(pairs, anchor=pairs.anchor + k) for pairs, k in zip(sets, offsets, strict=True)
        ]
        return PairSet(**{field.name: _joined(moved, field.name) for field in fields(PairSet)})


def _joined(sets: Sequence[PairSet], name: str) -> np.ndarray:
    return np.concatenate([getattr(pairs, name) for pairs in sets])


def local_std(windows: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Standard deviation of each window in and around its support (n,)."""
    reach = 2 * SURROUNDINGS + 1
    total = np.pad(support, ((0, 0), (SURROUNDINGS + 1, SURROUNDINGS))).cumsum(axis=1)
    std = windows.std(axis=1, where=total[:, reach:] > total[:, :-reach], dtype=np.float64)
    return np.asarray(np.maximum(std, LEAST_STD))


def visible(windows: np.ndarray, counterpart: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Whether each counterpart (n, time) differs enough from its window inside the support."""
    found = strength(counterpart - windows, support)
    return np.asarray(found >= LEAST * local_std(windows, support))


def strength(residual: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Root-mean-square of each effect (n, time) inside its support."""
    squares = residual.astype(np.float64) ** 2
    return np.asarray(np.sqrt(squares.mean(axis=1, where=support)))
