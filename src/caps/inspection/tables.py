"""The tables of an inspection: stages, sizes, checks beside their goals, samplers."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from caps.plots import Entry, Number, Table
from caps.realize import Preset, size_table

# Lowest and highest value wanted of a check; docs/inspect.md has the reasons.
REPRESENTATION_GOALS = {
    "base explains of the normals' variance": (0.80, math.inf),
    "Dec explains of periodic energy": (0.30, math.inf),
    "Dec explains of mean energy": (0.60, math.inf),
    "probe: family from z_a": (0.80, math.inf),
    "probe: anomalous from z_s": (-math.inf, 0.60),
}
MODE_GOALS = {
    "real codes: rms ratio": (0.75, 1.35),
    "real codes: roughness ratio": (1 / 1.3, 1.3),
    "prior: rms ratio": (0.75, 1.35),
    "prior: roughness ratio": (1 / 1.3, 1.3),
    "rms outside over inside before masking": (-math.inf, 0.10),
}
NOISE, STRUCTURE = "change by new noise", "change by another structure"
ROUTER_GOAL = (0.85, math.inf)


def stage_table(stages: Mapping[str, Any]) -> Table:
    """Steps, time and last loss of every stage, and the whole time."""
    rows: list[list[Entry]] = [
        [
            name,
            number(facts["steps"], "{:,}"),
            number(facts["seconds"] / 60, "{:.1f}"),
            number(facts["curves"]["loss"][-1]),
        ]
        for name, facts in stages.items()
    ]
    whole = sum(facts["seconds"] for facts in stages.values()) / 60
    rows.append(["all stages", "", number(whole, "{:.1f}"), ""])
    return Table("Stages", ("stage", "steps", "minutes", "last loss"), rows)


def sizes_table(preset: Preset) -> Table:
    """The paper's table of sizes with this preset's beside it."""
    return Table("Sizes", ("component", "paper", f"preset {preset.name}"), size_table(preset))


def representation_table(figures: Mapping[str, float]) -> Table:
    """Every check of the representation beside its goal."""
    rows: list[list[Entry]] = []
    for name, value in figures.items():
        goal = REPRESENTATION_GOALS.get(name)
        rows.append([name, judged(value, goal), spelled(goal)])
    return Table("Representation, on unseen pairs", ("figure", "value", "wanted"), rows)


def realization_table(figures: Mapping[str, Any]) -> Table:
    """Every check of the experts: one column for each mode, then its goal; the router last."""
    modes = {name: values for name, values in figures.items() if name != "router"}
    rows = []
    for check in next(iter(modes.values())):
        goals = [
            (values[NOISE], math.inf) if check == STRUCTURE else MODE_GOALS.get(check)
            for values in modes.values()
        ]
        cells = [
            judged(values[check], goal) for values, goal in zip(modes.values(), goals, strict=True)
        ]
        wanted = "more than by new noise" if check == STRUCTURE else spelled(goals[0])
        rows.append([check, *cells, wanted])
    accuracy = judged(figures["router"]["accuracy"], ROUTER_GOAL)
    blank = [""] * (len(modes) - 1)
    rows.append(["router accuracy, all modes", accuracy, *blank, spelled(ROUTER_GOAL)])
    return Table("Experts and router, on unseen pairs", ("figure", *modes, "wanted"), rows)


def samplers_table(table: Sequence[Mapping[str, Any]], default: str) -> Table:
    """Samplers and steps against quality (samples of the prior) and cost."""
    modes = list(dict.fromkeys(row["mode"] for row in table))
    header = ["sampler", "steps"]
    header += [f"{mode}: {figure}" for mode in modes for figure in ("rms", "roughness")]
    rows = []
    for (method, steps), group in groupby(table, lambda row: (row["sampler"], row["steps"])):
        lines = list(group)
        cells: list[Entry] = [method, number(steps, "{}")]
        for line in lines:
            cells.append(judged(line["rms ratio"], MODE_GOALS["prior: rms ratio"]))
            cells.append(judged(line["roughness ratio"], MODE_GOALS["prior: roughness ratio"]))
        cost = sum(line["ms per pair"] for line in lines) / len(lines)
        rows.append([*cells, number(cost, "{:.2f}")])
    caption = f"Samplers: ratios to real residuals and ms per pair (this model uses {default})"
    return Table(caption, (*header, "ms per pair"), rows)


def number(value: float, shape: str = "{:.3f}") -> Number:
    """A figure without a goal."""
    return Number(shape.format(value), value)


def judged(value: float, goal: tuple[float, float] | None) -> Number:
    """A figure, marked by whether it lies within its goal."""
    if goal is None:
        return number(value)
    met = goal[0] <= value <= goal[1]
    return Number(f"{value:.3f}", value, mark="met" if met else "missed")


def spelled(goal: tuple[float, float] | None) -> str:
    """The goal in words.

    >>> spelled((0.75, 1.35)), spelled((0.8, math.inf)), spelled((-math.inf, 0.1)), spelled(None)
    ('0.75 to 1.35', 'at least 0.80', 'at most 0.10', '')
    """
    if goal is None:
        return ""
    low, high = goal
    if math.isinf(high):
        return f"at least {low:.2f}"
    return f"at most {high:.2f}" if math.isinf(low) else f"{low:.2f} to {high:.2f}"
