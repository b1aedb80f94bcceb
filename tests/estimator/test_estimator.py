"""`CAPS` as a user meets it: conventions, alignment, events, budgets, odd training parts."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import caps
from caps import CAPS, InputError
from caps.realize import Pretrained
from caps.scoring import EventRules, FitOptions
from caps.scoring.channels import (
    BinaryChannel,
    ConstantChannel,
    LearnedChannel,
    SilentChannel,
)
from untrained_weights import FAST, noisy_wave, save_untrained_weights

ROWS, TRAIN = 1500, 1100
LEVEL, SPIKE = slice(1250, 1290), 1400
WITH_DETECTOR = {"detector": FAST, "construction": "injection", "references": 64}


def broken_wave() -> np.ndarray:
    values = noisy_wave(ROWS)
    values[LEVEL] += 5
    values[SPIKE] += 12
    return values


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    return save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")


def estimator(weights: Pretrained, **options: object) -> CAPS:
    return CAPS(pretrained=weights, **{"train": TRAIN} | options)


@pytest.fixture(scope="session")
def model(weights: Pretrained) -> CAPS:
    return estimator(weights).fit(broken_wave())


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Two metrics with times in a zone, rows left out and values missing."""
    second = np.cos(np.arange(ROWS) / 11) + 0.1 * np.random.default_rng(1).standard_normal(ROWS)
    second[1130:1138] -= 6
    time = pd.date_range("2024-05-01", periods=ROWS, freq="10min", tz="Europe/Berlin")
    frame = pd.DataFrame({"time": time, "load": broken_wave(), "heat": second})
    frame.loc[300:310, "heat"] = np.nan
    return frame.drop(index=range(700, 720)).reset_index(drop=True)


@pytest.fixture(scope="session")
def pair(weights: Pretrained, table: pd.DataFrame) -> CAPS:
    return estimator(weights, train="2024-05-08", alarms="1/day").fit(table)


def test_events_cover_what_was_broken(model: CAPS) -> None:
    events = model.events(broken_wave())
    found = list(zip(events["start_row"], events["end_row"], strict=True))
    assert any(start < LEVEL.stop and end > LEVEL.start for start, end in found)
    assert any(start <= SPIKE < end for start, end in found)


def test_scores_are_one_for_each_row_and_flags_are_events(model: CAPS) -> None:
    values = broken_wave()
    scores, flags = model.decision_function(values), model.predict(values)
    assert scores.shape == flags.shape == (ROWS,)
    assert ((scores >= 0) & (scores <= 1)).all()
    frame = model.score_frame(values)
    assert np.array_equal(frame["flag"], flags)
    assert np.array_equal(frame["event"] > 0, flags == 1)
    events = model.events(values)
    for number, start, end in zip(
        events["event"], events["start_row"], events["end_row"], strict=True
    ):
        assert (frame["event"][start:end] == number).all()


def test_the_same_seed_gives_the_same_scores(weights: Pretrained, model: CAPS) -> None:
    again = estimator(weights).fit(broken_wave())
    assert np.array_equal(
        again.decision_function(broken_wave()), model.decision_function(broken_wave())
    )


def test_the_order_of_the_columns_changes_nothing(
    weights: Pretrained, pair: CAPS, table: pd.DataFrame
) -> None:
    turned = table[["heat", "time", "load"]]
    other = estimator(weights, train="2024-05-08", alarms="1/day").fit(turned)
    np.testing.assert_array_equal(other.decision_function(turned), pair.decision_function(table))


def test_another_number_of_threads_hardly_moves_scores(weights: Pretrained, model: CAPS) -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 - min(threads, 2))
        other = estimator(weights).fit(broken_wave())
    finally:
        torch.set_num_threads(threads)
    moved = other.decision_function(broken_wave()) - model.decision_function(broken_wave())
    assert np.abs(moved).max() < 0.01


def test_no_event_of_a_budget_is_more_usual_than_the_budget(model: CAPS) -> None:
    for alarms in ("1/100", "1/1000", "1/10000"):
        found = clone_of(model).set_alarms(alarms).analyze(broken_wave()).events
        assert found
        assert all(event.p_value <= float(Fraction(alarms)) * 1.001 for event in found)


def test_budgets_that_training_cannot_resolve_are_said(model: CAPS) -> None:
    notes = {}
    for alarms in ("1/2", "1/500", "1/1000000"):
        notes[alarms] = clone_of(model).set_alarms(alarms).notes_
    assert any("cannot be used up" in note for note in notes["1/2"])
    assert not any("budget" in note for note in notes["1/500"])
    assert any("extrapolated" in note for note in notes["1/1000000"])


def clone_of(model: CAPS) -> CAPS:
    """The same fitted model under parameters of its own."""
    copy = clone(model)
    copy.fitted_ = model.fitted_
    return copy


def test_the_constructor_only_stores(weights: Pretrained) -> None:
    given = CAPS(alarms="nonsense", aggregate="worst", seed=-1)
    assert given.get_params()["alarms"] == "nonsense"
    assert given.set_params(alarms="1/day").alarms == "1/day"
    copy = clone(estimator(weights, seed=3))
    assert copy.seed == 3
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    with pytest.raises(NotFittedError):
        copy.predict(broken_wave())


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"alarms": "often"}, "1/day"),
        ({"alarms": "1/day"}, "in rows"),
        ({"aggregate": "worst"}, "joint, max, top5"),
        ({"seed": -1}, "positive"),
        ({"construction": "magic"}, "caps, resized, shuffled"),
        ({"train": 5}, "longer training part"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_unusable_parameters_name_the_remedy_on_fit(
    weights: Pretrained, options: dict[str, object], remedy: str
) -> None:
    with pytest.raises(InputError, match=remedy):
        estimator(weights, **options).fit(broken_wave())


def test_it_works_at_the_end_of_a_pipeline(weights: Pretrained, model: CAPS) -> None:
    pipeline = make_pipeline(FunctionTransformer(), estimator(weights))
    values = broken_wave()[:, None]
    pipeline.fit(values)
    assert check_is_fitted(pipeline[-1]) is None
    assert np.array_equal(pipeline.decision_function(values), model.decision_function(values))


def test_a_budget_changes_without_fitting(model: CAPS) -> None:
    values, before = broken_wave(), model.threshold_
    scores = model.decision_function(values)
    try:
        strict = model.set_alarms("1/100000")
        assert strict is model
        assert strict.threshold_ > before
        assert strict.expected_alarms_["per 1000 rows"] == pytest.approx(0.01, rel=0.01)
        assert np.array_equal(strict.decision_function(values), scores)
        with pytest.raises(InputError, match="in rows"):
            model.set_alarms("1/day")
        assert model.alarms == "1/100000"
        model.set_params(alarms="1/1000")
        assert model.threshold_ == before
    finally:
        model.set_params(alarms="1/1000")


def test_another_budget_is_previewed(model: CAPS) -> None:
    analysis = model.analyze(broken_wave())
    few, many = analysis.alarms("1/100000"), analysis.alarms("1/50")
    assert few.threshold < 1
    assert few.expected < many.expected
    assert len(few.spans) <= len(many.spans)
    assert analysis.alarms("1/1000").threshold == analysis.threshold


def test_pandas_rows_keep_their_index_and_time(pair: CAPS, table: pd.DataFrame) -> None:
    shuffled_labels = table.set_index(pd.Index(range(1000, 1000 + len(table))))
    frame = pair.score_frame(shuffled_labels)
    assert frame.index.equals(shuffled_labels.index)
    assert frame["time"].equals(shuffled_labels["time"])
    shares = frame[["contribution_load", "contribution_heat"]].sum(axis=1)
    assert np.allclose(shares, 1)
    events = pair.events(table)
    assert events["start"].dtype == table["time"].dtype
    for event in events.itertuples():
        assert table["time"][event.start_row] == event.start
        assert table["time"][event.end_row - 1] == event.end


def test_polars_and_arrow_get_their_own_frames(pair: CAPS, table: pd.DataFrame) -> None:
    ours = pl.from_pandas(table)
    expected = pair.score_frame(table)["score"].to_numpy()
    assert np.array_equal(pair.score_frame(ours)["score"].to_numpy(), expected)
    assert isinstance(pair.events(ours), pl.DataFrame)
    assert pair.events(ours).height == len(pair.events(table))
    arrow = ours.to_arrow()
    assert type(pair.score_frame(arrow)) is type(arrow)
    assert type(pair.events(arrow)) is type(arrow)


def test_a_time_index_gives_times(pair: CAPS, table: pd.DataFrame) -> None:
    indexed = table.set_index("time")
    assert pair.score_frame(indexed).index.equals(indexed.index)
    events = pair.events(indexed)
    assert list(events["start"]) == list(pair.events(table)["start"])


def test_a_file_is_read_as_the_frame_is(pair: CAPS, table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    assert np.allclose(pair.decision_function(path), pair.decision_function(table), atol=1e-9)


def test_channels_are_found_by_name(pair: CAPS, table: pd.DataFrame) -> None:
    moved = table[["heat", "time", "load"]].assign(other=1.0)
    assert np.array_equal(pair.decision_function(moved), pair.decision_function(table))
    with pytest.raises(InputError, match="no heat"):
        pair.decision_function(table[["time", "load"]])


def test_the_channel_that_carries_an_event_contributes_most(
    pair: CAPS, table: pd.DataFrame
) -> None:
    rows = np.flatnonzero(table["heat"] < -4)
    assert len(rows) == 8
    shares = pair.score_frame(table)[["contribution_load", "contribution_heat"]].iloc[rows]
    assert shares["contribution_heat"].mean() > 0.6


def test_the_counterpart_of_a_broken_segment_is_the_unbroken_one(
    pair: CAPS, table: pd.DataFrame
) -> None:
    analysis = pair.analyze(table)
    rows = np.flatnonzero(table["heat"] < -4)
    explained = analysis.explain(int(analysis.event_id[rows[0]]))
    assert sum(explained.contributions.values()) == pytest.approx(1)
    (heat,) = [view for view in explained.channels if view.name == "heat"]
    inside = np.isin(heat.rows, rows)
    assert np.array_equal(heat.values, table["heat"].to_numpy()[heat.rows], equal_nan=True)
    assert (heat.values[inside] < heat.counterpart[inside] - 4).all()


def test_aggregations_score_the_same_rows(weights: Pretrained, table: pd.DataFrame) -> None:
    mean, strongest = (
        estimator(weights, train="2024-05-08", aggregate=each).fit(table)
        for each in ("top5", "max")
    )
    theirs, ours = strongest.decision_function(table), mean.decision_function(table)
    assert np.isfinite(ours).all()
    # The strongest evidence is never below the mean of the two.
    assert (ours <= theirs + 1e-12).all()
    assert not np.array_equal(ours, theirs)


def test_rows_without_any_value_have_no_score(model: CAPS) -> None:
    values = broken_wave()
    values[500:520] = np.nan
    scores = model.decision_function(values)
    assert np.isnan(scores[500:520]).all()
    assert np.isfinite(np.delete(scores, range(500, 520))).all()
    assert (model.predict(values)[500:520] == 0).all()


def test_gaps_in_time_are_steps_that_passed(pair: CAPS, table: pd.DataFrame) -> None:
    """Rows that were left out count like rows without values."""
    time = pd.date_range(table["time"].iloc[0], table["time"].iloc[-1], freq="10min")
    filled = table.set_index("time").reindex(time).rename_axis("time").reset_index()
    assert len(filled) == len(table) + 20
    kept = filled["load"].notna().to_numpy()
    assert np.allclose(pair.decision_function(filled)[kept], pair.decision_function(table))


def test_irregular_times_are_taken_as_steps_with_a_note(weights: Pretrained) -> None:
    time = np.datetime64("2024-01-01") + np.cumsum(
        np.random.default_rng(0).integers(20, 4000, ROWS)
    ).astype("timedelta64[s]")
    fitted = estimator(weights).fit({"time": time, "load": broken_wave()})
    assert "equal steps" in " ".join(fitted.notes_)
    assert np.isfinite(fitted.decision_function({"time": time, "load": broken_wave()})).all()


def test_a_constant_channel_is_surprised_by_another_value(weights: Pretrained) -> None:
    steady = np.full(400, 7.0)
    fitted = estimator(weights, train=None, alarms="1/300").fit(steady)
    assert "constant" in " ".join(fitted.notes_)
    steady[100:103] = 8.0
    assert np.flatnonzero(fitted.predict(steady)).tolist() == [100, 101, 102]
    assert fitted.events(steady)["direction"].tolist() == ["up"]


def test_a_constant_and_a_missing_channel_do_not_disturb_a_good_one(weights: Pretrained) -> None:
    values = np.column_stack([broken_wave(), np.full(ROWS, 3.0), np.full(ROWS, np.nan)])
    fitted = estimator(weights).fit(values)
    notes = " ".join(fitted.notes_)
    assert "constant" in notes
    assert "ignored" in notes
    assert [type(channel) for channel in fitted.fitted_.channels] == [
        LearnedChannel,
        ConstantChannel,
        SilentChannel,
    ]
    scores = fitted.decision_function(values)
    assert scores[LEVEL].max() > np.quantile(scores, 0.95)


def test_a_switch_counts_by_values_it_never_had(weights: Pretrained, tmp_path: Path) -> None:
    switch = (np.arange(ROWS) % 97 < 40).astype(float)
    switch[1450:1455] = 2.0
    values = np.column_stack([noisy_wave(ROWS), switch])
    model = estimator(weights).fit(values)
    assert [type(channel) for channel in model.fitted_.channels] == [LearnedChannel, BinaryChannel]
    assert "only a third one counts" in " ".join(model.notes_)
    evidence = model.fitted_.score(model.analyze(values).grid).evidence[:, 1]
    np.testing.assert_allclose(evidence[1450:1455], np.log(TRAIN + 1))
    assert (np.delete(evidence, slice(1450, 1455)) == 0).all()
    model.save(tmp_path / "model")
    again = CAPS.load(tmp_path / "model", pretrained=weights)
    np.testing.assert_array_equal(again.decision_function(values), model.decision_function(values))


def test_switches_are_learned_where_asked_for_or_all_there_is(weights: Pretrained) -> None:
    switch = (np.arange(ROWS) % 97 < 40).astype(float)
    asked = estimator(weights, switches=True).fit(np.column_stack([noisy_wave(ROWS), switch]))
    alone = estimator(weights).fit(np.column_stack([switch, np.ones(ROWS)]))
    assert [type(channel) for channel in asked.fitted_.channels] == [LearnedChannel, LearnedChannel]
    assert [type(channel) for channel in alone.fitted_.channels] == [
        LearnedChannel,
        ConstantChannel,
    ]


def test_a_switch_never_dominates_a_channel_that_had_never_moved(weights: Pretrained) -> None:
    switch = (np.arange(ROWS) % 97 < 40).astype(float)
    switch[1200:1400] = np.arange(200) % 2  # never switched like this
    still = np.ones(ROWS)
    still[1450:1455] = 3.0
    values = np.column_stack([switch, still])
    model = estimator(weights).fit(values)
    evidence = model.fitted_.score(model.analyze(values).grid).evidence
    switched = model.fitted_.channels[0]
    assert isinstance(switched, LearnedChannel)
    bound = switched.bound
    assert bound is not None
    assert evidence[:, 0].max() < bound < evidence[1450:1455, 1].min()
    # Windows reach from the odd rows into those beside them: the rows of training do not.
    assert np.median(evidence[1200:1400, 0]) > evidence[:TRAIN, 0].max()


@pytest.mark.parametrize("causal", [False, True])
def test_a_channel_that_stood_still_speaks_up_where_it_moves_and_around(
    weights: Pretrained, causal: bool
) -> None:
    still = np.ones(ROWS)
    still[1150], still[1300:1360] = 2.0, 2.0
    values = np.column_stack([still, np.ones(ROWS)])
    model = estimator(weights, causal=causal).fit(values)
    evidence = model.fitted_.score(model.analyze(values).grid).evidence[:, 0]
    assert min(evidence[1150], evidence[1330]) > np.log(TRAIN)
    assert 1 < evidence[1362] < evidence[1330]  # what has just moved is not yet forgotten
    assert evidence[:700].max() < 1


def test_a_note_names_a_few_of_many_constant_channels(weights: Pretrained) -> None:
    notes = " ".join(estimator(weights, train=None).fit(np.full((400, 8), 7.0)).notes_)
    assert "and 3 more are constant in training" in notes


def test_many_channels_take_one_network_each(weights: Pretrained) -> None:
    def members(channels: int, **options: object) -> int:
        return FitOptions(**{"detector": "auto"} | options).detector_for(channels).members

    assert (members(16), members(17)) == (2, 1)
    assert (members(17, members=3), members(17, detector=FAST)) == (3, FAST.members)
    fitted = estimator(weights, train=None, members=2, **WITH_DETECTOR).fit(noisy_wave(400)).fitted_
    assert len(fitted.channels[0].detector.members) == 2


@pytest.mark.parametrize(("rows", "noted"), [(40, True), (319, True), (320, False), (500, False)])
def test_short_training_parts_are_used(weights: Pretrained, rows: int, noted: bool) -> None:
    fitted = estimator(weights, train=None, **WITH_DETECTOR).fit(noisy_wave(rows))
    assert ("too few" in " ".join(fitted.notes_)) == noted
    assert np.isfinite(fitted.decision_function(noisy_wave(50, seed=2))).all()


def test_known_anomalies_choose_the_modes_and_are_not_learned(
    weights: Pretrained, table: pd.DataFrame
) -> None:
    known = [("2024-05-03 10:00", "2024-05-03 14:00"), (1380, 1384)]
    model = estimator(weights, train="2024-05-08", **WITH_DETECTOR)
    fitted = model.fit(table, known_anomalies=known)
    assert 1 <= len(fitted.fitted_.facts["modes"]) <= 3
    assert "diagnosed" in " ".join(fitted.notes_)
    row = int(np.flatnonzero(table["time"] == pd.Timestamp(known[0][0], tz="Europe/Berlin"))[0])
    # The bank starts at the first row of training here.
    assert np.isnan(fitted.fitted_.channels[0].bank[row : row + 24]).all()
    with pytest.raises(InputError, match="at least one row"):
        estimator(weights).fit(table, known_anomalies=[(10, 10)])
    with pytest.raises(InputError, match="no moment"):
        estimator(weights).fit(table, known_anomalies=[("soon", "later")])


def test_causal_scores_do_not_know_the_future(weights: Pretrained) -> None:
    values = broken_wave()
    fitted = estimator(weights, causal=True).fit(values)
    whole = fitted.decision_function(values)
    for end in (1, 300, 1260):
        assert np.allclose(fitted.decision_function(values[:end]), whole[:end], atol=1e-6, rtol=0)
    one_by_one = [fitted.decision_function(values[: end + 1])[-1] for end in range(1235, 1265)]
    np.testing.assert_allclose(one_by_one, whole[1235:1265], atol=1e-6, rtol=0)


def test_kinds_are_shown_only_when_the_router_is_good_enough(
    weights: Pretrained, model: CAPS, tmp_path: Path
) -> None:
    explained = model.explain(broken_wave(), 1)
    assert set(explained.kind_scores) == {"point", "periodic", "trend"}
    assert sum(explained.kind_scores.values()) == pytest.approx(1)
    best, share = next(iter(explained.kind_scores.items()))
    assert explained.kind == (best if share >= 0.7 else None)
    poor = save_untrained_weights(tmp_path / "poor", accuracy=0.7)
    fitted = estimator(poor).fit(broken_wave())
    assert fitted.explain(broken_wave(), 1).kind_scores == {}
    assert set(fitted.events(broken_wave())["kind"]) == {None}


def test_explain_takes_a_number_or_an_event(model: CAPS) -> None:
    values = broken_wave()
    analysis = model.analyze(values)
    number = int(analysis.event_id[SPIKE])
    assert model.explain(values, analysis.events[number - 1]).number == number
    assert "local standard deviations above" in model.explain(values, number).reason
    with pytest.raises(InputError, match="counted from 1"):
        model.explain(values, 99)


def test_event_rules_are_those_of_the_calibration(weights: Pretrained) -> None:
    rules = EventRules(merge_gap=0, minimum_length=3)
    fitted = estimator(weights, rules=rules, alarms="1/50").fit(broken_wave())
    events = fitted.events(broken_wave())
    assert (np.asarray(events["end_row"]) - np.asarray(events["start_row"]) >= 3).all()
    carried = fitted.fitted_.calibration.rules
    assert carried.fresh >= rules.fresh  # what many rows of training have is not fresh
    assert replace(carried, fresh=rules.fresh) == rules


def test_a_plot_shows_every_channel_and_the_score(pair: CAPS, table: pd.DataFrame) -> None:
    figure = pair.plot(table)
    assert [panel.get_ylabel() for panel in figure.axes] == ["load", "heat", "score"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, {"comparing", "calibrating"}),
        (WITH_DETECTOR, {"making counterparts", "training", "comparing", "calibrating"}),
    ],
)
def test_progress_goes_from_start_to_end(
    weights: Pretrained, options: dict[str, object], told: set[str]
) -> None:
    reports: list[tuple[str, float]] = []
    estimator(weights, **options).fit(
        broken_wave(), progress=lambda text, share: reports.append((text, share))
    )
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert told == {text for text, _ in reports}


def test_a_series_of_ours_is_taken_as_it_is(model: CAPS) -> None:
    series = caps.read(broken_wave())
    assert np.array_equal(model.decision_function(series), model.decision_function(broken_wave()))


def test_loading_and_scoring_need_no_generator(model: CAPS, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    np.save(tmp_path / "values.npy", broken_wave())
    code = (
        "import sys, numpy as np\nfrom caps import CAPS\n"
        f"model = CAPS.load({str(tmp_path / 'model')!r})\n"
        f"values = np.load({str(tmp_path / 'values.npy')!r})\n"
        "model.decision_function(values); model.predict(values); model.score_frame(values)\n"
        "heavy = ('simulate', 'represent', 'realize', 'recover', 'bench', 'plots', 'inspection')\n"
        "print([name for name in heavy if f'caps.{name}' in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
