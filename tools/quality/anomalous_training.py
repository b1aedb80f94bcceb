"""Training parts with real anomalies of the same series in them: what is still found."""

import numpy as np

from caps import CAPS
from caps.bench.datasets import LabelledSeries, labelled_spans, load_series
from caps.bench.rendering import Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.metrics import EventFigures, event_figures

SHARES = (0.0, 0.01, 0.05, 0.1)  # of the training rows
RATE = 1 / 1000
LONGEST = 0.05  # of the training part: a longer anomaly is cut
TRIES = 200  # of places for an anomaly that overlap none before
SEED = 20_261_117
QUICK = 3  # series
HEADER = ["anomalous", "found", "recall", "false / allowed", "IoU", "found in training"]
Spans = list[tuple[int, int]]


def anomalous_training(run: StudyRun) -> Report:
    """Recall and false events with 0 to 10% of the training rows replaced, both ways of scoring."""
    several = [each for file in run.needed() if len(_events(each := load_series(file))) > 1]
    several = several[:QUICK] if run.quick else several
    protocol = [
        f"{len(several)} series with two events or more, 1/1000, seed {SEED}. Recall and IoU are "
        "means over series.",
        f"Every other event replaces training rows at random places, cut to {LONGEST:.0%} of them; "
        "the others are judged.",
    ]
    tables = []
    for causal, way in ((False, "in hindsight"), (True, "live")):
        rows = []
        for share in SHARES:
            run.say(f"{way}, {share:.0%}")
            rows.append([f"{share:.0%}", *_row(several, share, causal=causal)])
        title = f"Anomalies in the training part, {way}"
        tables.append(Table(f"anomalous training: {way}", title, HEADER, rows, protocol))
    return Report("Contaminated training parts", [], tables)


def _row(several: list[LabelledSeries], share: float, *, causal: bool) -> list:
    counted = [_measure(series, share, causal=causal) for series in several]
    judged = [figures for figures, _ in counted]
    noticed = [found for _, each in counted for found in each]
    return [
        f"{sum(each.found for each in judged)} of {sum(each.events for each in judged)}",
        figure(100 * float(np.mean([each.recall for each in judged])), 1),
        figure(sum(each.false_alarms for each in judged) / sum(each.allowed for each in judged)),
        figure(float(np.mean([each.iou for each in judged]))),
        f"{sum(noticed)} of {len(noticed)}" if noticed else "-",
    ]


def _measure(
    series: LabelledSeries, share: float, *, causal: bool
) -> tuple[EventFigures, list[bool]]:
    """The events of the test part that are judged, and which of those put into training show."""
    donors, train = _events(series)[::2], series.train
    values, planted = _contaminated(series, donors, share)
    analysis = CAPS(detector=None, causal=causal, alarms=RATE, train=train).fit(values)
    alarms = [(event.start, event.end) for event in analysis.analyze(values).events]
    labels = series.labels.copy()
    for start, end in donors:
        labels[start:end] = 0
    judged = [
        (max(start, train) - train, end - train)
        for start, end in alarms
        if end > train and not _touched((start, end), donors)
    ]
    noticed = [_touched(span, alarms) for span in planted]
    return event_figures(judged, labels[train:], RATE), noticed


def _contaminated(series: LabelledSeries, donors: Spans, share: float) -> tuple[np.ndarray, Spans]:
    """The values with anomalies in place of training rows, and where these are."""
    rng = np.random.default_rng(SEED)
    values, train = series.values.copy(), series.train
    left, longest = round(share * train), max(1, round(LONGEST * train))
    planted: Spans = []
    for number in range(TRIES):
        start, end = donors[number % len(donors)]
        length = min(end - start, longest, left)
        if length < 1:
            break
        at = int(rng.integers(0, train - length))
        if not _touched((at - 1, at + length + 1), planted):
            values[at : at + length] = series.values[start : start + length]
            planted.append((at, at + length))
            left -= length
    return values, planted


def _events(series: LabelledSeries) -> Spans:
    """The labelled spans of the test part."""
    return labelled_spans(series.labels, series.train)


def _touched(span: tuple[int, int], others: Spans) -> bool:
    return any(start < span[1] and end > span[0] for start, end in others)
