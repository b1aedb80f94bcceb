"""One detector over many similar series, beside one for each: CPU time and detection quality.

The series are the cpu metric of simulated hosts with known incidents. The shared detector is
trained on all training parts, each scaled by itself; every series then has its own scale, levels
and calibration with that detector. A prototype: the second step has no public way in yet, so the
parts of a fit that the shared detector makes needless are replaced.

    .venv/bin/python tools/checks/fleet_shared.py --series 12
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from caps import CAPS, Series, evaluate, read
from caps.network.config import DetectorConfig
from caps.network.detector import Detector
from caps.scoring import LearnedChannel
from caps.series import Scaler
from caps.simulate.telemetry import STEPS_PER_DAY, Telemetry, month_of_telemetry

METRIC = "cpu"
BUDGET = "1/week"
APART = 256  # unobserved rows between series: one window
PLAIN = DetectorConfig()


def series_of(month: Telemetry) -> Series:
    values = month.values[:, month.metrics.index(METRIC)]
    return read({"time": month.time, METRIC: values})


def shared_detector(series: list[Series], months: list[Telemetry], times: int) -> Detector:
    """Trained on all training parts; `times` the references and steps of one fit."""
    parts = []
    for each, month in zip(series, months, strict=True):
        train = each.split(month.train_end)[0].on_grid()[0].values
        parts += [Scaler.fit(train).transform(train)[:, 0], np.full(APART, np.nan)]
    config = DetectorConfig(steps=PLAIN.steps * times)
    model = CAPS(references=384 * times, detector=config).fit(np.concatenate(parts[:-1]))
    channel = model.fitted_.channels[0]
    assert isinstance(channel, LearnedChannel)
    detector = channel.detector
    assert isinstance(detector, Detector)
    return detector


def with_detector(detector: Detector, series: Series, month: Telemetry) -> CAPS:
    """A fit whose detector is given: scale, levels and calibration are the series' own."""
    with (
        patch("caps.scoring.detectors.recover_pairs", lambda *_, **__: None),
        patch("caps.scoring.detectors.train_detector", lambda *_, **__: detector),
    ):
        return CAPS(train=month.train_end, alarms=BUDGET).fit(series)


def quality(model: CAPS, series: Series, month: Telemetry) -> dict[str, float]:
    """Metrics of the rows after training, incidents found and false events."""
    told = [each for each in month.incidents if METRIC in each.metrics]
    assert series.time is not None
    during = [(series.time >= each.start) & (series.time < each.end) for each in told]
    rest = series.time >= month.train_end
    analysis = model.analyze(series)
    labels = np.any(during, axis=0)[rest].astype(int)
    result = evaluate(np.nan_to_num(analysis.score[rest]), labels, window=STEPS_PER_DAY)
    numbers = analysis.event_id
    right = {int(number) for rows in during for number in np.unique(numbers[rows])} - {0}
    return {
        "vus_pr": result.vus_pr,
        "auc_pr": result.auc_pr,
        "found": sum(bool(numbers[rows].any()) for rows in during),
        "incidents": len(told),
        "false": len(set(np.unique(numbers[rest]).tolist()) - {0} - right),
    }


def judged(
    name: str, make: Callable[[Series, Telemetry], CAPS], data: list[tuple[Series, Telemetry]]
) -> dict[str, Any]:
    started = time.process_time()
    models = [make(series, month) for series, month in data]
    spent = time.process_time() - started
    found = [quality(model, *each) for model, each in zip(models, data, strict=True)]
    total = {key: sum(each[key] for each in found) for key in ("found", "incidents", "false")}
    means = {key: round(float(np.mean([each[key] for each in found])), 3) for key in found[0]}
    row = {
        "way": name,
        "cpu_seconds": round(spent, 1),
        "vus_pr": means["vus_pr"],
        "auc_pr": means["auc_pr"],
        "vus_pr_each": [round(each["vus_pr"], 3) for each in found],
        **total,
    }
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=12)
    parser.add_argument("--times", type=int, nargs="*", default=[1, 4])
    given = parser.parse_args()
    torch.set_num_threads(1)
    months = [month_of_telemetry(seed) for seed in range(given.series)]
    series = [series_of(month) for month in months]
    data = list(zip(series, months, strict=True))
    rows = []
    for times in given.times:
        started = time.process_time()
        detector = shared_detector(series, months, times)
        spent = time.process_time() - started

        def shared(each: Series, month: Telemetry, trained: Detector = detector) -> CAPS:
            return with_detector(trained, each, month)

        row = judged(f"shared, {times} x the training", shared, data)
        row["cpu_seconds"] = round(row["cpu_seconds"] + spent, 1)
        rows.append(row)

    def own(each: Series, month: Telemetry) -> CAPS:
        return CAPS(train=month.train_end, alarms=BUDGET).fit(each)

    rows.append(judged("one each", own, data))
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
