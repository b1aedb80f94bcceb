"""F1_T from its definition: run by run, threshold by threshold."""

import numpy as np

Run = tuple[int, int]


def runs_of(flags: np.ndarray) -> list[Run]:
    """Maximal runs of ones as half-open ranges."""
    runs, start = [], None
    for index, flag in enumerate([*flags, 0]):
        if flag and start is None:
            start = index
        elif not flag and start is not None:
            runs.append((start, index))
            start = None
    return runs


def meet(first: Run, second: Run) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def reward(run: Run, others: list[Run], flags: np.ndarray) -> float:
    """Cardinality factor times the share of the run that the other side covers."""
    met = sum(meet(run, other) for other in others)
    if met == 0:
        return 0.0
    length = run[1] - run[0]
    return ((length - 1) / length) ** (met - 1) * sum(flags[run[0] : run[1]]) / length


def precision_recall(
    predictions: np.ndarray, labels: np.ndarray, *, fixed: bool
) -> tuple[float, float]:
    predicted, events = runs_of(predictions), runs_of(labels)
    if not predicted or not events:
        return 0.0, 0.0
    recall = sum(reward(event, predicted, predictions) for event in events) / len(events)
    counted = predicted
    if not fixed:
        # The published merge loop ends at the first predicted run behind the last event.
        behind = [run for run in predicted if run[0] >= events[-1][1]]
        counted = [run for run in predicted if run not in behind[1:]]
    credit = sum((run[1] - run[0]) * reward(run, events, labels) for run in predicted)
    return credit / sum(end - start for start, end in counted), recall


def range_f1(predictions: np.ndarray, labels: np.ndarray, *, fixed: bool) -> float:
    precision, recall = precision_recall(predictions, labels, fixed=fixed)
    if precision == 0 and recall == 0:
        recall = 1.0
    return 2 * precision * recall / (precision + recall)


def best_range_f1(
    scores: np.ndarray, labels: np.ndarray, *, fixed: bool, thresholds: np.ndarray | None = None
) -> float:
    if thresholds is None:
        thresholds = np.quantile(scores, np.linspace(0, 1, 1500))
    # Thresholds with the same predictions need one look.
    distinct = {(scores > threshold).tobytes(): threshold for threshold in thresholds}
    return max(
        range_f1((scores > threshold).astype(int), labels, fixed=fixed)
        for threshold in distinct.values()
    )
