"""From a training part to fitted detectors: references, counterparts, training, calibration.

The only module of a fit that needs the generator; a saved model is loaded and scored without it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.neighbours import deviation, normal_counterpart, training_rows
from caps.network import held_out, references_in, train_detector
from caps.realize import Pretrained
from caps.recover import (
    References,
    diagnose,
    known_windows,
    perturbed_pairs,
    recover_pairs,
)
from caps.scoring.calibration import FEWEST_PEAKS, FEWEST_ROWS, Calibration, calibrate
from caps.scoring.evidence import HALVINGS
from caps.scoring.fitted import (
    Channel,
    Fitted,
    State,
    channel_scores,
    detector_logits,
    switch_values,
)
from caps.scoring.level import LevelRange
from caps.scoring.memory import LARGEST, LENGTHS, ROWS, Memory, Usual
from caps.scoring.options import FitOptions
from caps.scoring.spans import EventRules
from caps.series import Scaler, Series
from caps.training import Report

FloatArray = NDArray[np.float64]
Spans = Sequence[tuple[int, int]]
# Called with what is being done and the share of the whole fit that is done.
FitProgress = Callable[[str, float], None]

FEWEST_REFERENCES = 96  # of a channel among many
ALL_REFERENCES = 1500  # of all channels together
BANK = 20_000  # training rows that a known anomaly is compared with: the last ones
CAUSAL_ROWS = 4_000  # rows of calibration that are scored one window a row
MOST_NAMED = 5  # channels in one note
RECOVERING = 0.4  # of the time of a channel; the rest is training


def fit(
    series: Series,
    rows: int,
    pretrained: Pretrained,
    settings: FitOptions,
    *,
    known: Spans = (),
    progress: FitProgress | None = None,
) -> Fitted:
    """Fit a detector for every channel on the first `rows` of a series on a regular grid.

    `known` are stretches of rows with known anomalies, anywhere in the series: they choose the
    modes (Diagnosis) and are no examples of normal.
    """
    train = series[:rows]
    work = _Work(series, train, pretrained, settings, list(known), progress or _silent)
    channels = [work.channel(place) for place in range(len(train.channels))]
    if not any(channel.state == "learned" or channel.state == "constant" for channel in channels):
        raise InputError(
            f"no channel has {FEWEST_ROWS} observed rows to learn from",
            "give a longer training part or other columns",
        )
    blank = Fitted(
        channels=tuple(channels),
        scaler=work.scaler,
        calibration=_nothing(settings.rules),
        aggregate=settings.aggregate,
        causal=settings.causal,
        step=train.sampling.step,
        start=train.time[0] if train.time is not None and train.sampling.regular else None,
        facts=work.facts(),
    )
    work.progress("calibrating", 1.0)
    return replace(blank, calibration=work.calibrate_rows(blank))


class _Work:
    """One fit: what all channels share."""

    def __init__(
        self,
        series: Series,
        train: Series,
        pretrained: Pretrained,
        settings: FitOptions,
        known: list[tuple[int, int]],
        progress: FitProgress,
    ) -> None:
        self.series, self.train = series, train
        self.pretrained, self.settings = pretrained, settings
        # By name, so that the order of the columns changes nothing.
        self.ranks = [sorted(train.channels).index(name) for name in train.channels]
        self.seeds = [settings.seed + rank for rank in self.ranks]
        self.known, self.progress = known, progress
        clean = train.values.copy()
        for start, end in known:
            clean[start:end] = np.nan
        self.scaler = Scaler.fit(clean)
        self.scaled = self.scaler.transform(clean)
        self.remembered = replace(self.scaler, clip=LARGEST).transform(clean)
        self.constant = set(replace(train, values=clean, observed=np.isfinite(clean)).constant)
        self.measured, self.two_valued = self._sorted_channels()
        self.switches = self._switches()
        detector = settings.detector_for(len(train.channels))
        assert detector is not None
        self.detector = detector
        self.kept, self.held = held_out(len(train), detector.window)
        self.notes: list[str] = []
        if self.kept == self.held:
            self.notes.append(
                f"{len(train)} training rows are too few to keep some for the threshold: "
                "it rests on rows the detector has learned from, expect more alarms than stated"
            )
        self.references = self._references()
        self.modes = self._modes()

    def channel(self, place: int) -> Channel:
        """Fit the detector of one channel."""
        name, settings = self.train.channels[place], self.settings
        values = self.scaled[:, place]
        rows = int(np.isfinite(values).sum())
        bank = self.remembered[-ROWS:, place].astype(np.float32)
        references = self.references[place]
        if references is None:
            state: State = "unknown"
            if rows >= FEWEST_ROWS and name in self.constant:
                state = "constant"
            elif name in self.switches:
                state = "switch"
            memory = None
            if state == "constant" and settings.memory and not self.measured:
                # Beside measured channels, a value never seen is enough: it would outshout them.
                memory = Memory.fit(self.remembered[:, place])
            return Channel(name, state, rows, None, None, bank, memory=memory)
        report = self._reporter(place)
        pairs = recover_pairs(
            self.pretrained,
            references,
            modes=self.modes,
            construction=settings.construction,
            seed=self.seeds[place],
            cache=None if settings.cache is None else Path(settings.cache),
            progress=lambda done, total: report("making counterparts", RECOVERING * done / total),
        )
        if settings.perturbed:
            pairs = pairs.joined(perturbed_pairs(references, len(pairs), self.seeds[place]))
        steps = self.detector.members
        detector = train_detector(
            pairs,
            self.detector,
            self.seeds[place],
            progress=_Steps(lambda share: report("training", _trained(share)), steps),
        )
        channel = Channel(name, "learned", rows, detector, None, bank)
        if name in self.two_valued and self.constant and not settings.switches:
            # When it is switched must not outshout that a channel moves which never did.
            channel = replace(channel, bound=float(np.log1p(rows)) / 2)
        memory = Memory.fit(self.remembered[:, place]) if settings.memory else None
        if memory is not None:
            channel = replace(channel, memory=memory, usual=self._usual(channel, place))
        elif settings.level:  # a memory sees levels by itself
            blocks = [values[block] for block in self.kept], [values[block] for block in self.held]
            channel = replace(channel, level=LevelRange.fit(*blocks))
        return replace(
            channel, calibration=calibrate(self._held_scores(channel, place), settings.rules)
        )

    def calibrate_rows(self, fitted: Fitted) -> Calibration:
        """Calibrate what all channels say together, on the same rows."""
        blocks = []
        for block, around in self._calibration_blocks():
            rows = self.train[around]
            score = fitted.score(rows, overlap=training_rows(around.start, len(rows))).score
            blocks.append(score[block.start - around.start : block.stop - around.start])
        made = calibrate(self._without_known(blocks), self.settings.rules)
        peaks = made.event_rate[-1] * made.rows
        if peaks < FEWEST_PEAKS:
            # Too few to fit a tail, but evidence has one by its making: -log p is exponential. The
            # fewer they are, the heavier the tail to be reckoned with.
            return replace(made, scale=HALVINGS, shape=1 / (peaks + 1))
        return made

    def facts(self) -> dict[str, Any]:
        """What is worth knowing about the fit, as JSON values."""
        checks = self.pretrained.facts.get("checks", {})
        router = checks.get("realization", {}).get("router", {})
        return {
            "rows": len(self.train),
            "references": [0 if each is None else len(each) for each in self.references],
            "modes": [self.pretrained.modes[mode].name for mode in self.modes],
            "construction": self.settings.construction,
            "perturbed": self.settings.perturbed,
            "kinds": [mode.name for mode in self.pretrained.modes],
            "kind_accuracy": router.get("accuracy"),
            "weights": self.pretrained.facts.get("sha256"),
            "preset": self.pretrained.preset.name,
            "seed": self.settings.seed,
            "notes": self.notes,
        }

    def _references(self) -> list[References | None]:
        settings = self.settings
        learned = len(set(self.train.channels) - self.constant - self.switches)
        shared = ALL_REFERENCES // max(learned, 1)
        limit = min(settings.references, max(FEWEST_REFERENCES, shared))
        found: list[References | None] = []
        steady, silent = [], []
        for place, name in enumerate(self.train.channels):
            rng = np.random.default_rng(
                np.random.SeedSequence(settings.seed, spawn_key=(self.ranks[place],))
            )
            values, references = self.scaled[:, place], None
            known = int(np.isfinite(values).sum()) >= FEWEST_ROWS
            if known and name in self.constant:
                steady.append(name)
            elif known and name not in self.switches:
                window = self.detector.window
                references = references_in(values, self.kept, window=window, limit=limit, rng=rng)
            if references is None and name not in steady and name not in self.switches:
                silent.append(name)
            found.append(references)
        self._remark(
            steady, "constant in training: another value is as likely as 1 in as many rows"
        )
        self._remark(
            [name for name in self.train.channels if name in self.switches],
            "switched between two values in training: only a third one counts "
            "(`switches=True` learns them too)",
        )
        self._remark(silent, "hardly observed in training: no say in the scores")
        return found

    def _sorted_channels(self) -> tuple[set[str], set[str]]:
        """Channels with many values, and those with two; the others stood still or are unknown."""
        measured: set[str] = set()
        two_valued: set[str] = set()
        for place, name in enumerate(self.train.channels):
            values = self.remembered[-ROWS:, place].astype(np.float32)
            if int(np.isfinite(values).sum()) >= FEWEST_ROWS and name not in self.constant:
                (two_valued if len(switch_values(values)) else measured).add(name)
        return measured, two_valued

    def _switches(self) -> set[str]:
        """Channels that had only two values, where others show how the system does.

        When a command is given says little about whether something is wrong, and its timing rarely
        repeats: on spacecraft telemetry such channels drown the ones that measure.
        """
        if self.settings.switches or not self.measured:
            return set()
        return self.two_valued

    def _remark(self, names: list[str], what: str) -> None:
        if not names:
            return
        shown = ", ".join(repr(name) for name in names[:MOST_NAMED])
        if len(names) > MOST_NAMED:
            shown += f" and {len(names) - MOST_NAMED} more"
        subject = f"channel {shown} is" if len(names) == 1 else f"channels {shown} are"
        self.notes.append(f"{subject} {what}")

    def _modes(self) -> list[int]:
        count = len(self.pretrained.modes)
        if self.settings.modes is not None:
            return [int(mode) for mode in self.settings.modes]
        if not self.known:
            return list(range(count))
        scaled = self.scaler.transform(self.series.values)
        windows, supports = [], []
        for start, end in self.known:
            values = scaled[:, self._loudest(scaled, start, end)]
            found = known_windows(values, None, [(start, end)], size=self.detector.window)
            windows.append(found[0])
            supports.append(found[1])
        modes = diagnose(self.pretrained, np.concatenate(windows), np.concatenate(supports))
        names = ", ".join(self.pretrained.modes[mode].name for mode in modes)
        self.notes.append(f"the known anomalies were diagnosed as {names}")
        return modes

    def _loudest(self, scaled: FloatArray, start: int, end: int) -> int:
        """The channel in which a known anomaly shows most."""
        sizes = []
        for place in range(scaled.shape[1]):
            bank = self.scaled[-BANK:, place]
            expected = normal_counterpart(scaled[:, place], start, end, bank)
            away = deviation(scaled[:, place], start, end, expected)[0]
            away = away[np.isfinite(away)]
            sizes.append(float(np.abs(away).mean()) if len(away) else 0.0)
        return int(np.argmax(sizes))

    def _usual(self, channel: Channel, place: int) -> Usual:
        """What the detector says of rows it has not learned from."""
        assert channel.detector is not None
        logits = []
        for block, around in self._held_blocks():
            values = self.remembered[around, place]
            said = detector_logits(channel.detector, values, causal=self.settings.causal)
            logits.append(said[block.start - around.start : block.stop - around.start])
        return Usual.of(np.concatenate(logits))

    def _held_scores(self, channel: Channel, place: int) -> list[FloatArray]:
        values, causal = self.remembered[:, place], self.settings.causal
        scores = []
        for block, around in self._calibration_blocks():
            rows = values[around]
            overlap = training_rows(around.start, len(rows))
            score, _ = channel_scores(channel, rows, len(rows), overlap, causal=causal)
            assert score is not None  # the channel has a detector
            scores.append(score[block.start - around.start : block.stop - around.start])
        if sum(int(np.isfinite(score).sum()) for score in scores) >= FEWEST_ROWS:
            return scores
        # Nearly all gap: the rows learned from have to do.
        overlap = training_rows(0, len(values))
        whole, _ = channel_scores(channel, values, len(values), overlap, causal=causal)
        return [] if whole is None else [whole]

    def _calibration_blocks(self) -> list[tuple[slice, slice]]:
        """Rows to calibrate on, and the same with what their windows reach.

        A memory compares no row with itself, so that all of the training part will do; what the
        detector has learned of most of it counts for little beside that.
        """
        if not self.settings.memory:
            return self._held_blocks()
        rows = len(self.train)
        start = max(0, rows - CAUSAL_ROWS) if self.settings.causal else 0
        return [(slice(start, rows), slice(max(0, start - max(LENGTHS)), rows))]

    def _held_blocks(self) -> list[tuple[slice, slice]]:
        """Rows that the detector has not learned from, and the same with what windows reach."""
        window, causal = self.detector.window, self.settings.causal
        blocks = []
        for block in self.held:
            start = block.start
            if causal:
                start = max(start, block.stop - CAUSAL_ROWS // len(self.held))
            stop = block.stop if causal else min(len(self.train), block.stop + window)
            blocks.append((slice(start, block.stop), slice(max(0, start - window), stop)))
        return blocks

    def _without_known(self, blocks: list[FloatArray]) -> list[FloatArray]:
        """Rows of known anomalies are no normal rows."""
        if not self.known:
            return blocks
        normal = np.ones(len(self.train), dtype=bool)
        for start, end in self.known:
            normal[start:end] = False
        rows = [block for block, _ in self._calibration_blocks()]
        return [
            np.where(normal[block], score, np.nan)
            for block, score in zip(rows, blocks, strict=True)
        ]

    def _reporter(self, place: int) -> Callable[[str, float], None]:
        count, name = len(self.train.channels), self.train.channels[place]
        where = f" for {name}" if count > 1 else ""

        def report(text: str, share: float) -> None:
            self.progress(text + where, (place + share) / count)

        return report


class _Steps:
    """Turns the reports of every member's training into one share that is done."""

    every = 0.25

    def __init__(self, write: Callable[[float], None], members: int) -> None:
        self.write, self.members = write, members

    def report(self, report: Report) -> None:
        """Pass on how far all members are."""
        member = int(report.name.rsplit("-", 1)[-1])
        self.write((member + report.step / report.steps) / self.members)

    def close(self) -> None:
        """Nothing stays open."""


def _silent(text: str, share: float) -> None:
    """Nobody watches."""


def _trained(share: float) -> float:
    return RECOVERING + (1 - RECOVERING) * share


def _nothing(rules: EventRules) -> Calibration:
    """A calibration that knows no alarm, until that of the rows replaces it."""
    return calibrate(np.zeros(FEWEST_ROWS), rules)
