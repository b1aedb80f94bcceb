"""Counters are scored by their rates: in a fit, in a file, in a stream and in an export alike."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.export import OnnxModel, write_onnx
from caps.scoring.input import is_counter, rates
from caps.scoring.remarks import remark_on

ROWS, TRAIN = 1400, 700
STALL, SURGE = slice(1000, 1024), slice(1200, 1212)


def requests() -> np.ndarray:
    """Requests served in each row, with a stall and a surge."""
    rng = np.random.default_rng(3)
    rate = 100 + 60 * np.sin(np.arange(ROWS) * 2 * np.pi / 96) + 8 * rng.standard_normal(ROWS)
    rate[STALL], rate[SURGE] = 0, rate[SURGE] * 6
    return np.clip(rate, 0, None)


def table(*, restart: int | None = None) -> pd.DataFrame:
    total = np.cumsum(requests())
    if restart is not None:
        total[restart:] -= total[restart - 1]
    time = pd.date_range("2024-05-01", periods=ROWS, freq="15min")
    return pd.DataFrame({"time": time, "requests_total": total})


def fitted(frame: pd.DataFrame, **options: object) -> CAPS:
    return CAPS(train=TRAIN, **options).fit(frame)


@pytest.mark.parametrize("restart", [None, 400, 900])
def test_a_stall_and_a_surge_of_a_counter_are_found(restart: int | None) -> None:
    frame = table(restart=restart)
    model = fitted(frame)
    assert model.fitted_.counters == ("requests_total",)
    assert any("'requests_total' is a counter" in note for note in model.notes_)
    flags = model.predict(frame)
    assert flags[STALL].any()
    assert flags[SURGE].any()
    assert not flags[895:910].any()  # a restart is no anomaly


def test_a_counter_scores_as_its_rate_does() -> None:
    frame = table()
    rate = frame.assign(requests_total=rates(frame["requests_total"].to_numpy()))
    by_rate = fitted(rate)
    assert by_rate.fitted_.counters == ()
    np.testing.assert_array_equal(
        fitted(frame).decision_function(frame), by_rate.decision_function(rate)
    )


def test_values_can_be_scored_instead() -> None:
    model = fitted(table(), counters=False)
    assert model.fitted_.counters == ()
    assert not any("is a counter" in note for note in model.notes_)


def test_what_is_shown_of_a_counter_is_its_rate() -> None:
    frame = table()
    model = fitted(frame)
    analysis = model.analyze(frame)
    np.testing.assert_allclose(analysis.series.values[1:, 0], requests()[1:], atol=1e-6)
    surge = next(event for event in analysis.events if event.start < 1212 and event.end > 1200)
    view = analysis.explain(surge.number).channels[0]
    assert np.nanmax(view.values) > 400
    assert np.nanmax(view.counterpart) < 400


def test_gaps_of_a_counter_are_no_rises() -> None:
    frame = table()
    kept = frame.drop(index=range(1100, 1110))
    model = fitted(frame)
    scored = model.analyze(kept)
    assert np.isnan(scored.scores.evidence[1100:1111, 0]).all()
    assert not scored.flag[1100:1105].any()


def test_a_stream_a_saved_and_an_exported_model_score_a_counter_alike(tmp_path: Path) -> None:
    frame = table(restart=900)
    model = CAPS(train=TRAIN, causal=True).fit(frame)
    expected = model.decision_function(frame[TRAIN:].reset_index(drop=True))
    model.save(tmp_path / "model")
    write_onnx(model, tmp_path / "model.onnx")
    exported = OnnxModel.load(tmp_path / "model.onnx")
    for each in (model, CAPS.load(tmp_path / "model"), exported):
        assert each.fitted_.counters == ("requests_total",)
        scores = each.decision_function(frame[TRAIN:].reset_index(drop=True))
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        stream = each.stream()
        update = stream.extend(frame["requests_total"][TRAIN:], frame["time"][TRAIN:].to_numpy())
        one_by_one = each.stream()
        single = [
            one_by_one.update(value, time).scores[0]
            for value, time in zip(
                frame["requests_total"][TRAIN : TRAIN + 40], frame["time"][TRAIN:], strict=False
            )
        ]
        np.testing.assert_allclose(update.scores, expected, atol=1e-6)
        np.testing.assert_allclose(single, expected[:40], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        (np.cumsum(np.random.default_rng(0).poisson(3, 2000)), True),
        (np.cumsum(np.random.default_rng(0).poisson(0.1, 2000)), False),  # rises now and then
        (np.concatenate([np.arange(500) * 3, np.arange(500) * 3]), True),
        (np.arange(1000) % 50, False),  # a tank that fills and is drained
        (np.random.default_rng(0).standard_normal(1000).cumsum(), False),
        (40 + np.arange(1000) / 30 + np.random.default_rng(0).standard_normal(1000), False),
        (np.repeat([3.0, 4.0, 5.0], 300), False),  # versions
        (np.full(1000, 7.0), False),
        (np.arange(10.0), False),
        (np.where(np.arange(1000) == 500, np.nan, np.arange(1000) * 2.0), True),
        (-np.arange(1000.0), False),
        (np.concatenate([np.arange(500) + 1000, np.arange(500) + 900]), False),  # falls, not to 0
    ],
)
def test_what_only_rises_is_a_counter(values: np.ndarray, counts: bool) -> None:
    assert is_counter(values.astype(float)) is counts


def test_a_counter_that_never_moves_again_is_seen() -> None:
    frame = table()
    frame.loc[1100:, "requests_total"] = frame.loc[1100, "requests_total"]
    assert fitted(frame).predict(frame)[1101:1150].any()


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        (np.where(np.arange(200) % 25 == 0, np.arange(200) % 4 + 1, 0), "counts events: 0 in 96 %"),
        (np.clip(50 + 80 * np.sin(np.arange(200) / 9), None, 100), None),
        (np.clip(80 + 40 * np.sin(np.arange(200) / 9), 0, 100), "stands at 100 in"),
        (np.clip(20 + 40 * np.sin(np.arange(200) / 9), 0, 100), "stands at 0 in"),
        (np.clip(0.8 + 0.4 * np.sin(np.arange(200) / 9), 0, 1), "stands at 1 in"),
        (np.sin(np.arange(200)), None),
        (np.arange(200) % 2, None),
        (np.zeros(10), None),
    ],
)
def test_counts_and_bounds_are_remarked_on(values: np.ndarray, remark: str | None) -> None:
    found = remark_on(values.astype(float))
    assert found is None if remark is None else remark in str(found)


def test_remarks_are_among_the_notes_of_a_fit() -> None:
    rng = np.random.default_rng(0)
    wave = 80 + 40 * np.sin(np.arange(800) / 9) + rng.standard_normal(800)
    errors = np.where(rng.random(800) < 0.04, rng.integers(1, 6, 800), 0)
    model = CAPS().fit({"cpu": np.clip(wave, 0, 100), "errors": errors})
    assert any("channel 'cpu' stands at 100" in note for note in model.notes_)
    assert any("channel 'errors' counts events" in note for note in model.notes_)
