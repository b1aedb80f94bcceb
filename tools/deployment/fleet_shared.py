"""One detector over many similar series, beside one for each: CPU time and detection quality.

The series are the cpu metric of simulated hosts with known incidents. The shared detector is
trained on all training parts, each scaled by itself; every series then has its own scale, levels
and calibration with that detector. A prototype: the second step has no public way in yet, so the
parts of a fit that the shared detector makes needless are replaced.
"""

import time
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
import torch

from caps import CAPS, Series, evaluate, read
from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.network import Detector, DetectorConfig
from caps.scoring import LearnedChannel
from caps.series import Scaler
from caps.simulate.telemetry import STEPS_PER_DAY, Telemetry, month_of_telemetry
from tools.machine import machine

METRIC = "cpu"
BUDGET = "1/week"
APART = 256  # unobserved rows between series: one window
PLAIN = DetectorConfig()
HOSTS, QUICK_HOSTS = 12, 2
TIMES, QUICK_TIMES = (1, 4), (1,)  # the training of one fit

Data = list[tuple[Series, Telemetry]]


def fleet_shared(run: StudyRun) -> Report:
    """A shared detector, trained like one and longer, beside one each."""
    torch.set_num_threads(1)
    months = [month_of_telemetry(seed) for seed in range(QUICK_HOSTS if run.quick else HOSTS)]
    data = [(_series_of(month), month) for month in months]
    rows = []
    for times in QUICK_TIMES if run.quick else TIMES:
        started = time.process_time()
        detector = _shared_detector(data, times)
        spent = time.process_time() - started
        name = f"shared, {times} x the training"
        rows.append(_judged(name, partial(_with_detector, detector), data, spent, run))
    rows.append(_judged("one each", _own, data, 0.0, run))
    header = ["way", "CPU, s", "VUS-PR", "AUC-PR", "incidents found", "false events"]
    return Report(
        "One detector for many series",
        [
            f"Metric {METRIC} of {len(data)} simulated hosts, a budget of {BUDGET}. {machine()}, "
            "one thread. One draw of very similar series, and a prototype."
        ],
        [Table("fleet shared", "Shared and own detectors", header, rows)],
    )


def _own(series: Series, month: Telemetry) -> CAPS:
    return CAPS(train=month.train_end, alarms=BUDGET, detector="auto").fit(series)


def _judged(
    name: str, make: Callable[[Series, Telemetry], CAPS], data: Data, spent: float, run: StudyRun
) -> list[Entry]:
    started = time.process_time()
    models = [make(series, month) for series, month in data]
    spent += time.process_time() - started
    found = [_quality(model, *each) for model, each in zip(models, data, strict=True)]
    run.say(f"{name}: VUS-PR {[round(each['vus_pr'], 3) for each in found]}")
    total = {key: int(sum(each[key] for each in found)) for key in ("found", "incidents", "false")}
    return [
        name,
        figure(spent, digits=1),
        *(figure(float(np.mean([each[key] for each in found])), 3) for key in ("vus_pr", "auc_pr")),
        f"{total['found']} of {total['incidents']}",
        str(total["false"]),
    ]


def _series_of(month: Telemetry) -> Series:
    values = month.values[:, month.metrics.index(METRIC)]
    return read({"time": month.time, METRIC: values})


def _shared_detector(data: Data, times: int) -> Detector:
    """Trained on all training parts; `times` the references and steps of one fit."""
    parts = []
    for each, month in data:
        train = each.split(month.train_end)[0].on_grid()[0].values
        parts += [Scaler.fit(train).transform(train)[:, 0], np.full(APART, np.nan)]
    config = DetectorConfig(steps=PLAIN.steps * times)
    model = CAPS(references=384 * times, detector=config).fit(np.concatenate(parts[:-1]))
    channel = model.fitted_.channels[0]
    assert isinstance(channel, LearnedChannel)
    detector = channel.detector
    assert isinstance(detector, Detector)
    return detector


def _with_detector(detector: Detector, series: Series, month: Telemetry) -> CAPS:
    """A fit whose detector is given: scale, levels and calibration are the series' own."""
    with (
        patch("caps.scoring.detectors.recover_pairs", lambda *_, **__: None),
        patch("caps.scoring.detectors.train_detector", lambda *_, **__: detector),
    ):
        # Without the perturbed pairs of a fit: there are no pairs to add them to.
        options = {"alarms": BUDGET, "detector": "auto", "perturbed": False}
        return CAPS(train=month.train_end, **options).fit(series)


def _quality(model: CAPS, series: Series, month: Telemetry) -> dict[str, float]:
    """Metrics of the rows after training, incidents found and false events."""
    incidents = [each for each in month.incidents if METRIC in each.metrics]
    assert series.time is not None
    during = [(series.time >= each.start) & (series.time < each.end) for each in incidents]
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
        "incidents": len(incidents),
        "false": len(set(np.unique(numbers[rest]).tolist()) - {0} - right),
    }
