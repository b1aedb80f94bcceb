"""What pretraining, counterparts, fitting and scoring cost on this machine (appendix D.5)."""

import os
import platform
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch

from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.drawing import draw_stacks
from caps.bench.studies.study import Report, StudyRun
from caps.jobs import one_thread
from caps.network import DetectorConfig, score_logits, train_detector, window_logits
from caps.recover import recover_pairs, reference_windows
from caps.simulate import WINDOW

Result = TypeVar("Result")

PAPER_GENERATION, PAPER_DETECTION = 50.0, 2.0  # ms for a pair, ms for a sequence
PAPER_TRAINING = "23.6 min (5,000 pairs) to 180.5 min (48,000)"


def cost(run: StudyRun) -> Report:
    """Processor time of each step, one thread."""
    count = 48 if run.quick else 384
    with one_thread():
        measured = _measure(run, count)
    preset, minutes = run.pretrained.preset, run.pretrained.minutes
    pretraining = f"Pretraining, {preset.pairs:,} pairs (preset {preset.name})"
    alone, long = measured["alone"], measured["long"]
    rows: list[list[Entry]] = [
        [
            f"{pretraining}, minutes by the clock",
            figure(minutes or float("nan"), digits=1),
            PAPER_TRAINING,
        ],
        ["Counterpart, ms a pair", figure(measured["pair"]), f"{PAPER_GENERATION:g}"],
        ["Detector, training on one series, s", figure(measured["training"]), "not given"],
        [f"Scoring one window of {WINDOW} rows alone, ms", figure(alone), f"{PAPER_DETECTION:g}"],
        [f"Scoring a long series, ms for each {WINDOW} rows", figure(long, digits=3), "not given"],
    ]
    table = Table(
        "cost",
        "Computational cost",
        ["Step", "Ours", "Paper"],
        rows,
        [
            "Processor time of one thread, except pretraining, which the manifest of the weights "
            "gives by the clock of the machine it was made on. Scoring needs the detector alone."
        ],
    )
    picture = draw_stacks(
        ["counterpart, ms a pair", "scoring a window, ms"],
        {"ours": [measured["pair"], measured["alone"]]},
        across=f"milliseconds (paper: {PAPER_GENERATION:g} and {PAPER_DETECTION:g})",
    )
    sampler = preset.sampler
    return Report(
        "Computational cost",
        [
            f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, one thread; "
            f"{count} references of a simulated wave with a counterpart for each mode; sampler "
            f"{sampler.method} with {sampler.steps} steps."
        ],
        [table],
        _verdict(measured),
        {"Cost of the two steps that the paper times.": picture},
        {"measured": measured, "references": count},
    )


def _measure(run: StudyRun, count: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(4_000) / 9) + 0.1 * rng.standard_normal(4_000)
    references = reference_windows(wave, limit=count, rng=rng)
    config = run.detector or DetectorConfig()
    run.say("timing counterparts")
    recover_pairs(run.pretrained, references[:4])  # warm up
    pairs, seconds = _timed(lambda: recover_pairs(run.pretrained, references, seed=1))
    run.say("timing the detector")
    detector, training = _timed(lambda: train_detector(pairs, config, 0))
    window, rounds = wave[None, :WINDOW], 30
    window_logits(detector, window)
    _, alone = _timed(lambda: [window_logits(detector, window) for _ in range(rounds)])
    long = np.tile(wave, 5)
    _, whole = _timed(lambda: score_logits(detector, long))
    return {
        "pair": 1e3 * seconds / len(pairs),
        "training": training,
        "alone": 1e3 * alone / rounds,
        "long": 1e3 * whole / (len(long) / WINDOW),
    }


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def _verdict(measured: dict[str, float]) -> list[str]:
    lines = []
    for name, ours, theirs in (
        ("A counterpart", measured["pair"], PAPER_GENERATION),
        ("Scoring a window", measured["alone"], PAPER_DETECTION),
    ):
        says = "less than" if ours < theirs else "**more than**"
        lines.append(f"{name} costs {ours:.1f} ms, {says} the paper's {theirs:g} ms.")
    return [*lines, "Hardware and networks differ: the paper names neither."]
