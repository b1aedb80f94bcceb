"""Run every deep peer once on a short simulated series and print the processor time of each.

python tools/peers/run_all.py [TRAIN ROWS]
"""

import resource
import sys

import numpy as np

from caps.baselines import METHODS
from caps.baselines.peers import PAPER, PeerError

PERIOD, BURST = 40, 20


def series(rows: int, train: int, channels: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(rows)[:, None] * 2 * np.pi / PERIOD + np.arange(channels))
    wave += 0.05 * rng.standard_normal((rows, channels))
    wave[(train + rows) // 2 : (train + rows) // 2 + BURST] += 3
    return wave


def main(train: int = 800, channels: tuple[int, ...] = (1, 3)) -> None:
    rows = 2 * train
    print("| peer | channels | training rows | rows scored | processor seconds |")
    print("|---|---:|---:|---:|---:|")
    for count in channels:
        values = series(rows, train, count)
        for name in PAPER:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                METHODS[name](0).fit(values[:train]).score(values)
            except PeerError as error:
                print(f"{name}, {count} channels: {error}", file=sys.stderr, flush=True)
                continue
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"| {name} | {count} | {train} | {rows} | {spent:.0f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
