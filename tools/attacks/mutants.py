"""Mistakes made by hand in the code that scores, one at a time: does some test notice each?

Each is made in a scratch copy of the tree, where the tests that should notice run until one fails.
A mistake whose text is no longer there exactly once is reported as gone: adapt or remove it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun

TREE = Path(__file__).parents[2]
COPIED = ("src", "tests", "pyproject.toml")
QUICK = 3  # mistakes
SURROUNDINGS = {  # one thread, no stale bytecode, reasons in full
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "COLUMNS": "300",
}
PATIENCE = 900.0  # seconds for the tests of one mistake
TESTS = {
    "neighbours/index.py": "tests/neighbours/test_index.py",
    "neighbours/profiles.py": "tests/neighbours/test_index.py",
    "neighbours/overlap.py": "tests/neighbours/test_training_overlap.py",
    "neighbours/counterpart.py": "tests/neighbours/test_counterpart.py",
    "scoring/memory.py": "tests/scoring/test_memory.py",
    "scoring/standardiser.py": "tests/scoring/test_memory.py",
    "scoring/channels.py": "tests/scoring/test_channels.py",
    "scoring/level.py": "tests/scoring/test_evidence.py",
    "scoring/evidence.py": "tests/scoring/test_evidence.py",
    "scoring/fitted.py": "tests/scoring/test_evidence.py",
    "scoring/calibration.py": "tests/scoring/test_threshold.py",
    "scoring/spans.py": "tests/events/test_events.py",
    "network/windowed.py": "tests/scoring/test_scoring.py",
    "network/few_windows.py": "tests/stream/test_stream.py -k few",
    "network/examples.py": "tests/network tests/scoring/test_threshold.py",
    "events/events.py": "tests/events/test_events.py",
    "events/extent.py": "tests/events/test_event_extent.py",
    "events/analysis.py": "tests/events/test_event_extent.py",
    "events/match.py": "tests/events/test_event_match.py",
    "events/kinds.py": "tests/events/test_event_kinds.py",
    "stream/tracker.py": "tests/stream/test_stream_tracker.py",
    "stream/stream.py": "tests/stream/test_stream.py",
    "stream/arrivals.py": "tests/stream/test_stream_arrivals.py",
    "stream/drift.py": "tests/stream/test_stream_drift.py",
}


class Mistake(NamedTuple):
    """One wrong piece of text in a file, to be noticed by the tests of the file."""

    file: str  # below src/caps
    what: str
    right: str
    wrong: str


class Outcome(NamedTuple):
    """What became of a mistake."""

    what: str  # noticed, missed, gone or broken
    by: str = ""  # the test that failed first
    why: str = ""


MISTAKES = [
    Mistake(
        "neighbours/index.py",
        "exclusion zone one row short",
        "starts + self.length, side",
        "starts + self.length - 1, side",
    ),
    Mistake(
        "neighbours/index.py",
        "a lost query has the distance of what it must not match",
        "np.where(lost, np.nan, distance)",
        "distance",
    ),
    Mistake(
        "neighbours/index.py",
        "missing root of the distance",
        "np.sqrt(np.square(apart).mean(axis=1))",
        "np.square(apart).mean(axis=1)",
    ),
    Mistake(
        "neighbours/index.py",
        "max for min: near ties settled for the farther one",
        "rivals[apart.argmin()]",
        "rivals[apart.argmax()]",
    ),
    Mistake(
        "neighbours/index.py",
        "level of the query weighed otherwise than that of the index",
        "self._root * wanted.level",
        "wanted.level",
    ),
    Mistake(
        "neighbours/index.py",
        "index made of the first subsequences instead of evenly",
        "starts[np.linspace(0, len(starts) - 1, config.index_size).astype(np.intp)]",
        "starts[: config.index_size]",
    ),
    Mistake(
        "neighbours/overlap.py",
        "a subsequence that ends before a span touches it",
        "starts + length > span.start",
        "starts + length >= span.start",
    ),
    Mistake(
        "neighbours/overlap.py",
        "overlap shifted by one row",
        "starts[index] - span.start + span.training",
        "starts[index] - span.start + span.training + 1",
    ),
    Mistake(
        "neighbours/overlap.py",
        "unobserved values count as values that do not agree",
        "agree[known].mean()",
        "agree.mean()",
    ),
    Mistake(
        "neighbours/profiles.py",
        "neighbours that lie just apart are left out",
        "starts[among]) < subsequences.shape[1]",
        "starts[among]) <= subsequences.shape[1]",
    ),
    Mistake(
        "neighbours/counterpart.py",
        "no guard after an event",
        "inside.stop + guard] = False",
        "inside.stop] = False",
    ),
    Mistake(
        "neighbours/counterpart.py",
        "an event in training is its own expectation",
        "    _exclude_itself(distance, window, around, filled)\n    found",
        "    found",
    ),
    Mistake(
        "neighbours/counterpart.py",
        "level weighed as shape, shape as level",
        "(1 - level_weight) * level**2",
        "level_weight * level**2",
    ),
    Mistake(
        "neighbours/counterpart.py",
        "margin after an event missing",
        "min(len(values), end + config.margin)\n    window",
        "min(len(values), end)\n    window",
    ),
    Mistake(
        "scoring/memory.py",
        "max for min of the two sides of a long subsequence",
        "np.fmin(back, ahead)",
        "np.fmax(back, ahead)",
    ),
    Mistake(
        "scoring/memory.py",
        "a row counts one subsequence that does not hold it",
        "_mean_between(every, row - length + 1, row)\n    back",
        "_mean_between(every, row - length, row)\n    back",
    ),
    Mistake(
        "scoring/memory.py",
        "the first causal row of a length is left out",
        "max(context.first, length - 1)",
        "max(context.first, length)",
    ),
    Mistake(
        "scoring/memory.py",
        "first rows of training remembered instead of the last",
        "cls(values[first:].astype(np.float32), first, config=config)",
        "cls(values[: len(values) - first].astype(np.float32), first, config=config)",
    ),
    Mistake(
        "scoring/memory.py",
        "exclusion zone in rows of training, not of what is remembered",
        "index.overlapping(training - self.first)",
        "index.overlapping(training)",
    ),
    Mistake(
        "scoring/memory.py",
        "missing logarithm of the density ratio",
        "np.log(distance / its_own)",
        "distance / its_own",
    ),
    Mistake(
        "scoring/memory.py",
        "pieces of several threads in the wrong order",
        "np.concatenate([each for _, each in of_part])",
        "np.concatenate([each for _, each in of_part][::-1])",
    ),
    Mistake(
        "scoring/memory.py",
        "a memory read from a file has the default configuration",
        "return cls(rows, blank.first, both, causal, config)",
        "return cls(rows, blank.first, both, causal)",
    ),
    Mistake(
        "scoring/memory.py",
        "weight of the detector ignored",
        "weight * np.exp(detector / sharpness)",
        "np.exp(detector / sharpness)",
    ),
    Mistake(
        "scoring/standardiser.py",
        "min for max: what is scored narrows what is usual",
        "max(self.std, std / config.slack_std)",
        "min(self.std, std / config.slack_std)",
    ),
    Mistake(
        "scoring/channels.py",
        "the detector's standardiser is not adapted",
        "standardiser = standardiser.adapted(logits, context.config)",
        "pass",
    ),
    Mistake(
        "scoring/channels.py",
        "values not cut for the detector",
        "np.clip(context.scaled[:, column], -CLIP, CLIP)",
        "context.scaled[:, column]",
    ),
    Mistake(
        "scoring/channels.py",
        "bound of a learned switch missing",
        "evidence = bounded(evidence, self.bound)",
        "pass",
    ),
    Mistake(
        "scoring/channels.py",
        "a constant at zero is always away from itself",
        "away > context.config.resolution",
        "away >= context.config.resolution",
    ),
    Mistake(
        "scoring/channels.py",
        "unobserved rows of a constant count as normal",
        "np.where(known, p_values, np.nan)",
        "p_values",
    ),
    Mistake(
        "scoring/level.py",
        "the level looks ahead",
        "np.convolve(np.where(seen, scaled, 0.0), box)[: len(scaled)]",
        "np.convolve(np.where(seen, scaled, 0.0), box)[-len(scaled) :]",
    ),
    Mistake(
        "scoring/level.py",
        "range of levels of the held-out rows instead of the learned ones",
        "levels_of(block, config.level_rows) for block in learned",
        "levels_of(block, config.level_rows) for block in held",
    ),
    Mistake(
        "scoring/calibration.py",
        "rate of events for the rate of rows",
        "self._rate(scores, self.row_rate)",
        "self._rate(scores, self.event_rate)",
    ),
    Mistake(
        "scoring/calibration.py",
        "alarms expected by the worst rate above a threshold",
        "self._rate(threshold, self.count_rate)",
        "self._rate(threshold, self.event_rate)",
    ),
    Mistake(
        "scoring/calibration.py",
        "tail of the calibration ignored",
        "np.where(level > self.tail, rates[-1] * self._survival(level - self.tail), counted)",
        "counted",
    ),
    Mistake(
        "scoring/calibration.py",
        "a budget per row turned upside down",
        "count / float(per) if float(per)",
        "float(per) / count if float(per)",
    ),
    Mistake(
        "scoring/evidence.py",
        "strongest rows all equal: no evidence beyond the tail",
        "counted + beyond",
        "counted",
    ),
    Mistake(
        "scoring/evidence.py",
        "unobserved channels count as quiet ones in top5",
        "np.clip(count, 1, config.top)",
        "np.full(len(evidence), config.top)",
    ),
    Mistake(
        "scoring/evidence.py",
        "contributions not normalised",
        "beyond / np.where(total > 0, total, 1.0)",
        "beyond",
    ),
    Mistake(
        "scoring/fitted.py",
        "channels scored with the column of another",
        "channel.evidence(context, column) for column, channel",
        "channel.evidence(context, len(channels) - 1 - column) for column, channel",
    ),
    Mistake(
        "scoring/fitted.py",
        "unobserved rows count as quiet ones of an event",
        "np.maximum(known.sum(axis=0), 1)",
        "len(rows)",
    ),
    Mistake(
        "scoring/spans.py",
        "merge gap one row short",
        "> rules.merge_gap + 1",
        "> rules.merge_gap",
    ),
    Mistake(
        "scoring/spans.py",
        "cool-down one row long",
        "spans[kept[-1], 1] >= cool_down",
        "spans[kept[-1], 1] > cool_down",
    ),
    Mistake(
        "network/windowed.py",
        "causal score by the place before the last",
        "window_logits(batch)[:, -1]",
        "window_logits(batch)[:, -2]",
    ),
    Mistake(
        "network/windowed.py",
        "causal score looks one row ahead",
        "pad_short(values[: row + 1], size)",
        "pad_short(values[: row + 2], size)",
    ),
    Mistake(
        "network/windowed.py",
        "flipped comparison: windows that saw nothing are trusted",
        "mean(axis=1) >= 0.5",
        "mean(axis=1) < 0.5",
    ),
    Mistake(
        "network/few_windows.py",
        "convolution of a few windows shifted by a tap",
        "(tap - self.kernel // 2) * self.dilation",
        "(tap - self.kernel // 2 + 1) * self.dilation",
    ),
    Mistake(
        "network/few_windows.py",
        "variance for spread in the norms of a few windows",
        "np.sqrt(_stacked(norm.running_var for norm in norms) + norms[0].eps)",
        "(_stacked(norm.running_var for norm in norms) + norms[0].eps)",
    ),
    Mistake(
        "network/examples.py",
        "a short part holds out its first rows",
        "[slice(0, cut)], [slice(cut, length)]",
        "[slice(length - cut, length)], [slice(0, length - cut)]",
    ),
    Mistake(
        "events/events.py",
        "direction turned round",
        '"up" if mean > 0 else "down"',
        '"down" if mean > 0 else "up"',
    ),
    Mistake(
        "events/events.py",
        "end time of the row after the last",
        "time[end - 1]",
        "time[end]",
    ),
    Mistake(
        "events/extent.py",
        "the quiet row before an event belongs to it",
        "int(before[-1]) + 1 if len(before)",
        "int(before[-1]) if len(before)",
    ),
    Mistake(
        "events/extent.py",
        "min for max: a small tail deviates too",
        "max(unusual, tail, config.least_deviation)",
        "min(unusual, max(tail, config.least_deviation))",
    ),
    Mistake(
        "events/analysis.py",
        "peak after the rows that deviate cut off",
        "max(event.start + rows[1], event.peak + 1)",
        "max(event.start + rows[1], event.peak)",
    ),
    Mistake(
        "events/analysis.py",
        "counterpart of another channel out of the cache",
        "key = (channel, event.start, event.end)",
        "key = (0, event.start, event.end)",
    ),
    Mistake(
        "events/analysis.py",
        "alarms expected in unobserved rows",
        "int(np.isfinite(self.scores.score).sum())",
        "len(self.scores.score)",
    ),
    Mistake(
        "events/analysis.py",
        "unobserved rows of an event flagged",
        "(self.event_id > 0) & np.isfinite(self.score)",
        "(self.event_id > 0)",
    ),
    Mistake(
        "events/match.py",
        "rows of an event in training match the rest of it",
        "first = min(place, event.start)",
        "first = place",
    ),
    Mistake(
        "events/match.py",
        "match counted from the first row remembered",
        "yield Match(memory.first + start,",
        "yield Match(start,",
    ),
    Mistake(
        "events/match.py",
        "peak at the end of what is compared, not in its middle",
        "event.peak - length // 2",
        "event.peak - length",
    ),
    Mistake(
        "events/kinds.py",
        "windows of a kind count alike",
        "axis=0, weights=supports.sum(axis=1)",
        "axis=0",
    ),
    Mistake(
        "events/kinds.py",
        "support by the smallest deviations",
        "np.sort(size)[-3:]",
        "np.sort(size)[:3]",
    ),
    Mistake(
        "stream/tracker.py",
        "event closed one row early",
        "row - self.run.end > self.rules.merge_gap",
        "row - self.run.end >= self.rules.merge_gap - 1",
    ),
    Mistake(
        "stream/tracker.py",
        "evidence between the rows of an event lost",
        "run.total += run.later_total",
        "pass",
    ),
    Mistake(
        "stream/tracker.py",
        "cool-down of a stream one row long",
        "row - self.last_end < rules.cool_down",
        "row - self.last_end <= rules.cool_down",
    ),
    Mistake(
        "stream/stream.py",
        "p-value of a row for that of an event",
        "of_events = self.fitted.calibration.event_p_values(scores)",
        "of_events = p_values",
    ),
    Mistake(
        "stream/stream.py",
        "a long gap cut one row short",
        "prepend=self.rows - 1), context + 1)",
        "prepend=self.rows - 1), context)",
    ),
    Mistake(
        "stream/arrivals.py",
        "a row is late one step early",
        "position < self.newest[0] - self.lateness",
        "position <= self.newest[0] - self.lateness",
    ),
    Mistake(
        "stream/drift.py",
        "bets at the share seen, not at its upper limit",
        "float(betaincinv(hits, misses, 1.0 - config.doubt))",
        "share",
    ),
]


def mutants(run: StudyRun) -> Report:
    """Make every mistake in a copy of the tree and run the tests that should notice it."""
    rows: list[list[Entry]] = []
    noticed = 0
    chosen = MISTAKES[: QUICK if run.quick else None]
    with tempfile.TemporaryDirectory() as folder:
        copy = _copied(Path(folder))
        for mistake in chosen:
            outcome = attempted(copy, mistake)
            noticed += outcome.what == "noticed"
            run.say(f"{mistake.file}, {mistake.what}: {outcome.what} {outcome.by}")
            rows.append([mistake.file, mistake.what, outcome.by or outcome.what, outcome.why])
    return Report(
        "Mistakes that tests notice",
        [f"{len(chosen)} mistakes in the code that scores, made by hand, one at a time."],
        [Table("mutants", "Mistakes", ["file", "mistake", "noticed by", "as"], rows)],
        wanted=f"each of {len(chosen)} mistakes is noticed by a test; {noticed} were",
        passed=noticed == len(chosen),
    )


def attempted(copy: Path, mistake: Mistake) -> Outcome:
    """Make a mistake in a copy of the tree, run its tests, and take it back."""
    path = copy / "src" / "caps" / mistake.file
    text = path.read_text(encoding="utf-8")
    if text.count(mistake.right) != 1:
        return Outcome("gone")
    tests = TESTS[mistake.file].split()
    path.write_text(text.replace(mistake.right, mistake.wrong), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=short", str(path), *tests],
            cwd=copy,
            env=os.environ | SURROUNDINGS | {"PYTHONPATH": str(copy / "src")},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode == 0:
        return Outcome("missed")
    failed = re.search(r"^FAILED (\S+::[^\s\[]+).*?(?: - (.*))?$", done.stdout, re.MULTILINE)
    if failed is None:
        return Outcome("broken", why=done.stdout[-200:])
    return Outcome("noticed", failed[1], failed[2] or "")


def _copied(folder: Path) -> Path:
    for name in COPIED:
        if (TREE / name).is_dir():
            shutil.copytree(
                TREE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(TREE / name, folder)
    return folder
