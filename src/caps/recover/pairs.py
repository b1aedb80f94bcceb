"""`PairSet`: references and their counterparts with known supports, what a detector learns from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from caps.errors import InputError

NO_MODE = -1  # of counterparts that a rule made


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
        for name in ("support", "mode", "anchor"):
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
        return replace(
            self,
            counterpart=self.counterpart[rows],
            support=self.support[rows],
            mode=self.mode[rows],
            anchor=self.anchor[rows],
        )

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
        return replace(
            self,
            counterpart=np.concatenate([self.counterpart, more.counterpart]),
            support=np.concatenate([self.support, more.support]),
            mode=np.concatenate([self.mode, more.mode]),
            anchor=np.concatenate([self.anchor, more.anchor]),
        )

    @staticmethod
    def concatenate(sets: Sequence["PairSet"]) -> "PairSet":
        """All references and counterparts of several sets, in order."""
        offsets = np.cumsum([0, *(len(pairs.reference) for pairs in sets[:-1])])
        return PairSet(
            reference=np.concatenate([pairs.reference for pairs in sets]),
            counterpart=np.concatenate([pairs.counterpart for pairs in sets]),
            support=np.concatenate([pairs.support for pairs in sets]),
            mode=np.concatenate([pairs.mode for pairs in sets]),
            anchor=np.concatenate(
                [pairs.anchor + offset for pairs, offset in zip(sets, offsets, strict=True)]
            ),
            trusted=np.concatenate([pairs.trusted for pairs in sets]),
        )
