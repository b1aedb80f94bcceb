"""Whatever is measured: an error of ours or a score wherever something was observed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from caps import CAPS
from caps.errors import CapsError
from caps.network.config import DetectorConfig
from caps.realize import Pretrained
from untrained_weights import noisy_wave, save_untrained_weights

HURRIED = DetectorConfig(width=8, members=1, steps=2, dilations=(1,), batch=4)
DTYPES = ("float64", "float32", "float16", "int64", "int16", "uint8", "bool")
LIBRARIES = ("numpy", "pandas", "polars", "list")
CLOCKS = ("none", "regular", "gaps", "irregular", "zoned")


@dataclass(frozen=True)
class Case:
    """A table as some user might have it."""

    values: np.ndarray  # (time, channel) float64, after the dtype
    source: Any


@st.composite
def cases(draw: st.DrawFn, *, channels: int | None = None, shortest: int = 1) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(shortest, 600))
    count = channels or draw(st.integers(1, 3))
    scale = 10.0 ** draw(st.integers(-12, 12))
    columns = []
    for _ in range(count):
        shape = draw(st.sampled_from(("wave", "noise", "constant", "steps", "missing", "huge")))
        columns.append(_column(shape, rows, rng))
    values = scale * np.column_stack(columns)
    gaps = draw(st.sampled_from((0.0, 0.1, 0.9)))
    dtype = draw(st.sampled_from(DTYPES))
    if dtype.startswith("float"):
        values[rng.random(values.shape) < gaps] = np.nan
        with np.errstate(over="ignore"):
            values = values.astype(dtype).astype(np.float64)
    else:
        values = np.clip(np.nan_to_num(values), 0, 100).astype(dtype).astype(np.float64)
    return Case(values, _source(values, dtype, draw(st.sampled_from(LIBRARIES)), draw, rng))


def _column(shape: str, rows: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "wave":
        return noisy_wave(rows, seed=int(rng.integers(99)))
    if shape == "noise":
        return rng.standard_normal(rows)
    if shape == "steps":
        return rng.integers(0, 3, rows).astype(np.float64)
    if shape == "missing":
        return np.full(rows, np.nan)
    column = np.full(rows, 7.0)
    if shape == "huge":
        column[rng.integers(rows)] = 1e9
    return column


def _source(
    values: np.ndarray, dtype: str, library: str, draw: st.DrawFn, rng: np.random.Generator
) -> Any:
    if library == "numpy":
        return values.astype(dtype)
    if library == "list":
        return values.tolist()
    table = {f"metric {index}": values[:, index].astype(dtype) for index in range(values.shape[1])}
    clock = draw(st.sampled_from(CLOCKS))
    steps = np.full(len(values), 60)
    if clock == "gaps":
        steps[rng.random(len(values)) < 0.05] = 60 * int(rng.integers(2, 50))
    if clock == "irregular":
        steps = rng.integers(1, 500, len(values))
    if clock != "none":
        time = np.datetime64("2024-03-30", "ns") + np.cumsum(steps).astype("timedelta64[s]")
        zone = "Europe/Berlin" if clock == "zoned" else None
        stamps = pd.DatetimeIndex(time, tz="UTC").tz_convert(zone)
        frame = pd.DataFrame({"time": stamps, **table})
    else:
        frame = pd.DataFrame(table)
    if library == "polars":
        return pl.from_pandas(frame)
    return frame.set_index("time") if clock != "none" and draw(st.booleans()) else frame


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    return save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")


@pytest.fixture(scope="module")
def fitted(weights: Pretrained) -> CAPS:
    chosen = CAPS(pretrained=weights, detector=HURRIED, construction="injection", references=8)
    return chosen.fit({"metric 0": noisy_wave(400)})


def check_scores(model: CAPS, case: Case) -> None:
    scores = model.decision_function(case.source)
    observed = np.isfinite(case.values).any(axis=1)
    assert scores.shape == observed.shape
    assert np.array_equal(np.isfinite(scores), observed)
    assert ((scores[observed] >= 0) & (scores[observed] <= 1)).all()
    flags = model.predict(case.source)
    assert set(np.unique(flags)) <= {0, 1}
    assert not flags[~observed].any()
    assert len(model.score_frame(case.source)["score"]) == len(scores)
    events = model.events(case.source)
    assert np.isfinite(np.asarray(events["score"], dtype=float)).all()


@given(cases(channels=1))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scoring_answers_or_says_what_is_wrong(fitted: CAPS, case: Case) -> None:
    try:
        if isinstance(case.source, np.ndarray | list):
            source: Any = {"metric 0": case.values[:, 0]}
            case = Case(case.values, source)
        check_scores(fitted, case)
    except CapsError as error:
        event(f"refused: {error.problem[:40]}")


@given(cases(shortest=2), st.sampled_from(("max", "top5")), st.booleans())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_fitting_answers_or_says_what_is_wrong(
    weights: Pretrained, case: Case, aggregate: str, causal: bool
) -> None:
    model = CAPS(
        pretrained=weights,
        detector=HURRIED,
        construction="injection",
        references=8,
        aggregate=aggregate,
        causal=causal,
    )
    try:
        model.fit(case.source)
        check_scores(model, case)
        assert np.isfinite(model.threshold_)
    except CapsError as error:
        event(f"refused: {error.problem[:40]}")
