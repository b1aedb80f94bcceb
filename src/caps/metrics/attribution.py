"""Attribution: whether the channels that caused an event come first in a ranking."""

from collections.abc import Collection, Sequence

from caps.errors import InputError


def hit_rate(ranking: Sequence[str], causes: Collection[str], share: float = 1.0) -> float:
    """HitRate@P%: how many of the causes are among the first of a ranking.

    As many channels are looked at as there are causes, times `share` and rounded down: 1.0 is
    HitRate@100%, 1.5 HitRate@150%.

    >>> hit_rate(["cpu", "disk", "load"], {"cpu", "load"})
    0.5
    >>> hit_rate(["cpu", "disk", "load"], {"cpu", "load"}, share=1.5)
    1.0
    """
    causes = set(causes)
    if not causes:
        raise InputError("an event without causes", "leave it out, or name the channels")
    if share < 1:
        raise InputError(f"a share of {share}", "give 1 or more")
    return len(causes.intersection(ranking[: int(share * len(causes))])) / len(causes)
