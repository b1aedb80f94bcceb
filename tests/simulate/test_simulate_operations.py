"""Each operation does what its name says, checked on events placed by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from caps.simulate import PairBatch
from caps.simulate.anomaly import own_data, periodic, point, trend
from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.operation import Events, Place, in_context, interpolated

MakeEvents = Callable[..., Events]


def residual(events: Events, values: np.ndarray) -> np.ndarray:
    return np.asarray(values - events.values)


def test_global_outliers_leave_the_range_of_the_series(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season", length=1)
    values, _ = point.global_outlier(events, rng)
    bases, row = events.bases, events.row
    outside = np.maximum(values[:, 0] - bases.high[row], bases.low[row] - values[:, 0])
    assert (outside > 0).mean() > 0.85


@pytest.mark.parametrize("generator", ["N1 harmonic season", "N5 beat train", "N8 chaos"])
def test_contextual_outliers_stay_inside_the_range_of_the_series(
    generator: str, make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events(generator, length=2)
    values, _ = point.contextual_outlier(events, rng)
    row = events.row[:, None]
    assert (values <= events.bases.high[row] + 1e-6).all()
    assert (values >= events.bases.low[row] - 1e-6).all()
    assert np.median(np.abs(residual(events, values))) > events.noise.mean()


def test_phase_swapped_values_are_values_of_the_season(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season", length=2)
    values, share = point.phase_swapped(events, rng)
    assert ((share >= 0.3) & (share <= 0.7)).all()
    rendered = values - events.background
    signal = events.bases.parts.signal[events.row]
    assert (rendered <= signal.max(axis=1, keepdims=True) + 1e-5).all()
    assert (rendered >= signal.min(axis=1, keepdims=True) - 1e-5).all()


def test_spikes_have_one_peak_and_one_sign(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season", length=7)
    change = residual(events, point.spike(events, rng)[0])
    assert (np.sign(change).min(axis=1) * np.sign(change).max(axis=1) >= 0).all()
    size = np.abs(change)
    top = size.argmax(axis=1)
    for row, peak in zip(size, top, strict=True):
        assert (np.diff(row[: peak + 1]) >= -1e-5).all()
        assert (np.diff(row[peak:]) <= 1e-5).all()


def test_spike_runs_have_several_peaks(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N15 slow process", length=30)
    size = np.abs(residual(events, point.spike_run(events, rng)[0]))
    padded = np.pad(size, ((0, 0), (1, 1)))
    peaks = (padded[:, 1:-1] > padded[:, :-2] + 1e-4) & (padded[:, 1:-1] > padded[:, 2:] + 1e-4)
    assert (peaks.sum(axis=1) >= 2).all()
    assert (peaks.sum(axis=1) <= 6).all()


def test_a_missing_spike_leaves_the_baseline(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N5 beat train")
    spans = np.array([spans[spans[:, 0] > 100][0] for spans in events.bases.parts.features])
    at = in_context(events.bases, events.row, spans[:, 0], spans[:, 1] - spans[:, 0])
    values, _ = point.missing_spike(at, rng)
    flat, peaked = values - at.background, at.signal
    for row, steps in enumerate(at.length):
        if steps > 4:
            assert np.abs(np.diff(flat[row, :steps], 2)).max() < 1e-4
            assert np.ptp(flat[row, :steps]) < np.ptp(peaked[row, :steps])


def test_amplitude_scales_the_swing_and_keeps_noise(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season")
    values, factor = periodic.amplitude(events, rng)
    swing = (values - events.background).std(axis=1) / np.maximum(events.signal.std(axis=1), 1e-6)
    assert np.allclose(swing, factor, rtol=1e-2)


def test_frequency_changes_the_number_of_cycles(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N6 waveform train", length=150)
    values, factor = periodic.frequency(events, rng)
    signal = events.bases.parts.signal
    own = events.start[:, None] + factor[:, None] * events.elapsed
    wanted = interpolated(signal, events.row, events.folded(own))
    assert np.allclose(values - events.background, wanted)
    assert ((factor < 0.81) | (factor > 1.24)).all()


def test_phase_slip_moves_the_clock_and_joins_both_ends(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season")
    values, shift = periodic.phase_slip(events, rng)
    change = residual(events, values)
    assert np.abs(change[:, [0, -1]]).max() < 1e-5
    middle = len(events.elapsed) // 2
    there = events.time[:, middle] + shift * events.period
    wanted = interpolated(events.bases.parts.signal, events.row, there[:, None])[:, 0]
    assert np.allclose((values - events.background)[:, middle], wanted, atol=1e-4)


def test_value_mirror_turns_upside_down(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N8 chaos")
    values, _ = own_data.value_mirror(events, rng)
    before = events.values - events.values.mean(axis=1, keepdims=True)
    after = values - values.mean(axis=1, keepdims=True)
    assert np.allclose(after, -before, atol=1e-4)


def test_time_reversal_reverses_up_to_a_tilt(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N5 beat train")
    values, _ = own_data.time_reversal(events, rng)
    tilt = values - events.values[:, ::-1]
    assert np.abs(np.diff(tilt, 2, axis=1)).max() < 1e-4
    assert np.allclose(values[:, 0], events.values[:, 0], atol=1e-4)
    assert np.allclose(values[:, -1], events.values[:, -1], atol=1e-4)


def test_local_warp_keeps_ends_and_order(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N2 multi-period")
    values, speed = own_data.local_warp(events, rng)
    change = residual(events, values)
    assert np.abs(change[:, [0, -1]]).max() < 1e-4
    assert np.abs(change[:, 5:-5]).max() > 0.1
    assert ((speed >= 0.4) & (speed <= 2.5)).all()


def test_cycles_are_removed_or_added(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N1 harmonic season", length=120)
    short = np.flatnonzero((events.period < 50) & (events.period > 15))
    assert len(short) > 5
    chosen = in_context(
        events.bases,
        events.row[short],
        events.start[short],
        np.round(3 * events.period[short]).astype(int),
    )
    values, cycles = own_data.cycle_count(chosen, rng)
    phase = np.cumsum(np.abs(np.diff(values - chosen.background, axis=1)), axis=1)
    before = np.cumsum(np.abs(np.diff(chosen.signal, axis=1)), axis=1)
    last = chosen.length - 2
    travel = np.take_along_axis(phase, last[:, None], 1) / np.take_along_axis(
        before, last[:, None], 1
    )
    # The path length grows with the number of cycles: 2/3 of it or 4/3 of it for three.
    assert np.corrcoef(travel[:, 0], cycles)[0, 1] > 0.8


def test_swapped_segments_come_from_the_same_series(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N1 harmonic season")
    values, lag = own_data.segment_swap(events, rng)
    assert (np.abs(lag) >= np.minimum(0.19 * events.period, 4) - 0.5).all()
    parts, pasted = events.bases.parts, values - events.current(events.bases.parts.trend)
    whole = parts.signal + parts.noise
    for row in range(len(events)):
        subsequences = np.lib.stride_tricks.sliding_window_view(
            whole[events.row[row]], events.length[row]
        )
        assert np.abs(subsequences - pasted[row]).max(axis=1).min() < 1e-4


@pytest.mark.parametrize("generator", ["N8 chaos", "N9 Gaussian process"])
def test_smooth_splices_have_no_visible_joint(
    generator: str, make_events: MakeEvents, rng: np.random.Generator
) -> None:
    """Bends at the joints are no sharper than bends the series has elsewhere."""
    events = make_events(generator, length=50, count=80)
    values, _ = own_data.smooth_splice(events, rng)
    change = residual(events, values)
    done = (np.abs(change).max(axis=1) > 0) & (events.period >= 10)
    assert done.mean() > 0.3
    signal = events.bases.parts.signal
    for row in np.flatnonzero(done):
        around = signal[events.row[row]].astype(float)
        usual = np.quantile(np.abs(np.diff(around, 2)), 0.995)
        start, stop = events.start[row], events.start[row] + events.length[row]
        around[start:stop] += change[row, : stop - start]
        bends = np.abs(np.diff(around, 2))
        joints = np.concatenate([bends[start - 3 : start + 1], bends[stop - 3 : stop + 1]])
        # The fade itself bends a little where the series is all but straight.
        assert joints.max() <= 1.2 * usual + 0.02
        assert np.sqrt(np.mean(change[row] ** 2)) > 0.35 * events.scale[row]


def test_discord_days_change_the_kind_of_day(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N4 power demand", span=3000)
    phase = events.bases.parts.phase[events.row]
    first = np.array([int(np.flatnonzero(np.diff(row.astype(int)) > 0)[9]) + 1 for row in phase])
    day = in_context(events.bases, events.row, first, np.round(events.period).astype(int))
    _, lag = periodic.discord_day(day, rng)
    noon = np.round(first + events.period / 2).astype(int)
    there = np.round(noon + lag * events.period).astype(int)
    kinds = events.bases.parts.day
    assert (lag != 0).all()
    assert (kinds[events.row, noon] != kinds[events.row, there]).all()


def test_noise_bursts_are_louder_or_quieter(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N7 rotating machine")
    values, factor = own_data.noise_burst(events, rng)
    loud = factor > 1
    size = residual(events, values).std(axis=1)
    assert (size[loud] > events.noise[loud]).mean() > 0.9


def test_smoothing_makes_smoother(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N10 autoregression")
    values, _ = own_data.smoothing(events, rng)
    assert (np.diff(values, 2).std(axis=1) < 0.5 * np.diff(events.values, 2).std(axis=1)).all()


def test_level_shifts_add_one_level(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N3 web metric")
    values, height = trend.level_shift(events, rng)
    inner = residual(events, values)[:, 5:-5]
    assert np.allclose(inner, inner[:, :1], atol=1e-4)
    assert np.allclose(np.abs(inner[:, 0]), height * events.scale, rtol=1e-3)


def test_flatlines_are_flat(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N1 harmonic season")
    values, kind = trend.flatline(events, rng)
    assert (values.std(axis=1) <= 0.1 * events.noise * 1.5 + 1e-6).all()
    held = (kind == 0) & (values.std(axis=1) == 0)
    assert held.any()
    assert np.allclose(values[held, 0], events.before(events.bases.series)[held])


def test_saturation_cuts_one_side_only(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N8 chaos")
    values, _ = trend.saturation(events, rng)
    change = residual(events, values)
    assert (((change <= 0).all(axis=1)) | ((change >= 0).all(axis=1))).all()
    kept = np.isclose(change, 0)
    assert (kept.mean(axis=1) > 0.2).all()
    assert (kept.mean(axis=1) < 0.98).all()


def test_wrong_states_are_states_of_the_series(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N12 piecewise state")
    values, target = trend.wrong_state(events, rng)
    levels = events.bases.parts.levels[events.row]
    assert np.nanmin(np.abs(levels - target[:, None]), axis=1).max() < 1e-6
    assert np.abs((values - events.background)[:, -1] - target).max() < 0.05


def test_transients_return_and_drifts_do_not_jump_in(
    make_events: MakeEvents, rng: np.random.Generator
) -> None:
    events = make_events("N15 slow process")
    drift = np.abs(residual(events, trend.drift(events, rng)[0]))
    assert (drift[:, 0] < 0.2 * drift.max(axis=1)).all()
    burst = np.abs(residual(events, trend.transient(events, rng)[0]))
    ends = np.minimum(burst[:, 0], burst[:, -1])
    assert (ends < 0.5 * burst.max(axis=1)).all()


def test_trend_breaks_rejoin(make_events: MakeEvents, rng: np.random.Generator) -> None:
    events = make_events("N11 random walk")
    change = np.abs(residual(events, trend.trend_break(events, rng)[0]))
    assert (change[:, 0] < 0.1 * change.max(axis=1)).all()
    assert (change[:, -1] < 0.1 * change.max(axis=1)).all()


def test_persistent_shifts_reach_the_end_of_the_window(pairs: PairBatch) -> None:
    code = [entry.name for entry in CATALOGUE].index("T2 persistent shift")
    chosen = pairs[pairs.operation == code]
    assert chosen.support[:, -1].all()


def test_seasonal_operations_only_act_on_seasons(pairs: PairBatch) -> None:
    names = {"Q1", "Q2", "Q3", "Q6", "Q7", "Q8", "Q9", "Q14"}
    needs = [code for code, entry in enumerate(CATALOGUE) if entry.name.split()[0] in names]
    assert len(needs) == len(names)
    assert np.isfinite(pairs.period[np.isin(pairs.operation, needs)]).all()


def test_features_are_where_feature_operations_act(pairs: PairBatch) -> None:
    placed = [code for code, entry in enumerate(CATALOGUE) if entry.place is not Place.ANYWHERE]
    assert len(placed) == 5
    assert (pairs.parameter("events")[np.isin(pairs.operation, placed)] == 1).all()
