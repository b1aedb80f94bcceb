"""Every deep peer once on a short simulated series: the processor time of each."""

import numpy as np

from caps.baselines import METHODS
from caps.baselines.peers import PAPER, PeerError
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.machine import machine, processor_seconds

PERIOD, BURST = 40, 20
TRAIN, QUICK_TRAIN = 800, 270  # rows; twice as many are scored
CHANNELS = (1, 3)


def peer_cost(run: StudyRun) -> Report:
    """Processor seconds of fitting and scoring."""
    train = QUICK_TRAIN if run.quick else TRAIN
    rows: list[list[Entry]] = []
    failures = []
    for channels in CHANNELS:
        values = _series(2 * train, train, channels)
        for name in PAPER:
            before = processor_seconds()
            try:
                METHODS[name](0).fit(values[:train]).score(values)
            except PeerError as error:
                failures.append(f"{name}, {channels} channels: {error}")
                continue
            spent = f"{processor_seconds() - before:.0f}"
            rows.append([name, str(channels), str(train), str(2 * train), spent])
            run.say(f"{name}, {channels} channels: {spent} s")
    header = ["peer", "channels", "training rows", "rows scored", "processor seconds"]
    return Report(
        "Cost of the deep peers",
        [f"{machine()}."],
        [Table("peer cost", "Processor time", header, rows)],
        wanted="; ".join(["all peers run", *failures]),
        passed=not failures,
    )


def _series(rows: int, train: int, channels: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(rows)[:, None] * 2 * np.pi / PERIOD + np.arange(channels))
    wave += 0.05 * rng.standard_normal((rows, channels))
    wave[(train + rows) // 2 : (train + rows) // 2 + BURST] += 3
    return wave
