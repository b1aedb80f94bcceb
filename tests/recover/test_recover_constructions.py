"""What every way of making counterparts promises, and what sets each apart."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from caps.errors import InputError
from caps.realize import Pretrained
from caps.recover import (
    CONSTRUCTIONS,
    Construction,
    PairSet,
    References,
    injection as rules,
    recover_pairs,
    reference_windows,
)
from caps.recover.pairs import LEAST, local_std, strength, visible
from caps.recover.resizing import like_source, roughness
from torch_threads import torch_threads

every_construction = pytest.mark.parametrize("construction", CONSTRUCTIONS)


def same(one: PairSet, other: PairSet) -> bool:
    names = ("counterpart", "support", "mode", "anchor")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@every_construction
def test_counterparts_equal_references_outside_supports(
    pretrained: Pretrained, references: References, construction: Construction
) -> None:
    pairs = recover_pairs(pretrained, references, construction=construction, seed=2)
    anchors = pairs.reference[pairs.anchor]
    assert (pairs.counterpart[~pairs.support] == anchors[~pairs.support]).all()
    assert pairs.support.any(axis=1).all()
    assert np.isfinite(pairs.counterpart).all()
    shown = visible(anchors, pairs.counterpart, pairs.support)
    assert shown.mean() > 0.95


@every_construction
def test_there_is_one_counterpart_for_each_mode_and_reference(
    pretrained: Pretrained, references: References, construction: Construction
) -> None:
    pairs = recover_pairs(pretrained, references, construction=construction)
    assert len(pairs) == 3 * len(references)
    assert (np.bincount(pairs.anchor) == 3).all()
    if construction in ("injection", "perturbation"):
        assert (pairs.mode == -1).all()
    else:
        kinds = set(zip(pairs.mode.tolist(), pairs.anchor.tolist(), strict=True))
        assert len(kinds) == len(pairs)


@every_construction
def test_the_same_seed_gives_the_same_pairs(
    pretrained: Pretrained, references: References, construction: Construction
) -> None:
    first, again, other = (
        recover_pairs(pretrained, references, modes=[2], construction=construction, seed=seed)
        for seed in (4, 4, 5)
    )
    assert same(first, again)
    assert not same(first, other)


@every_construction
def test_another_number_of_threads_gives_the_same_pairs(
    pretrained: Pretrained, references: References, construction: Construction
) -> None:
    made = []
    for count in (1, 2):
        with torch_threads(count):
            made.append(recover_pairs(pretrained, references, construction=construction, batch=8))
    assert same(*made)


def test_selected_modes_make_what_they_make_among_all(
    pretrained: Pretrained, references: References
) -> None:
    every = recover_pairs(pretrained, references, seed=1)
    some = recover_pairs(pretrained, references, modes=[2, 0], seed=1)
    for mode in (0, 2):
        assert same(some[some.mode == mode], every[every.mode == mode])
    assert set(some.mode.tolist()) == {0, 2}


def test_an_excluded_mode_leaves_the_number_of_counterparts(
    pretrained: Pretrained, references: References
) -> None:
    pairs = recover_pairs(pretrained, references, excluded=1)
    assert (np.bincount(pairs.anchor) == 3).all()
    counts = np.bincount(pairs.mode, minlength=3)
    assert counts[1] == 0
    assert abs(int(counts[0]) - int(counts[2])) <= 1
    twice = pairs[(pairs.mode == 0) & (pairs.anchor == 0)]
    assert len(twice) == 2
    assert (twice.counterpart[0] != twice.counterpart[1]).any()


def test_shuffled_effects_move_with_their_supports_to_another_reference(
    pretrained: Pretrained, references: References
) -> None:
    matched = recover_pairs(pretrained, references, seed=3)
    shuffled = recover_pairs(pretrained, references, construction="shuffled", seed=3)
    assert (shuffled.anchor != matched.anchor).all()
    assert (shuffled.support == matched.support).all()
    assert (shuffled.mode == matched.mode).all()
    assert np.allclose(shuffled.residual, matched.residual, atol=1e-5)
    moved = {(int(old), int(new)) for old, new in zip(matched.anchor, shuffled.anchor, strict=True)}
    assert len(moved) == len(references)


def test_resized_effects_are_those_of_caps_in_the_sizes_of_the_source(
    pretrained: Pretrained, references: References
) -> None:
    caps, resized, direct = (
        recover_pairs(pretrained, references, construction=construction, seed=3, modes=[2])
        for construction in CONSTRUCTIONS
        if construction in ("caps", "resized", "direct")
    )
    assert (resized.support == caps.support).all()
    assert (resized.anchor == caps.anchor).all()
    sizes = [np.sort(strength(each.residual, each.support)) for each in (caps, resized, direct)]
    # Other draws of the same source: their sizes agree as distributions.
    assert np.median(np.abs(sizes[1] - sizes[2])) < np.median(np.abs(sizes[0] - sizes[2]))


def test_like_source_takes_sizes_and_roughness_by_rank(rng: np.random.Generator) -> None:
    everywhere = np.ones((40, 64), dtype=bool)
    smooth = np.cumsum(rng.normal(size=(40, 64)), axis=1)
    wanted = rng.uniform(1, 5, (40, 1)) * (smooth[::-1] + rng.normal(size=(40, 64)))
    made = like_source(smooth + 0.5 * rng.normal(size=(40, 64)), everywhere, wanted, everywhere)
    for measured in (strength, roughness):
        found, asked = (np.sort(measured(each, everywhere)) for each in (made, wanted))
        assert np.allclose(found, asked, rtol=0.02)


def test_direct_effects_do_not_look_at_the_reference(
    pretrained: Pretrained, references: References
) -> None:
    far = replace(references, windows=references.windows * 0 + 1)
    here = recover_pairs(pretrained, references[:4], construction="direct", modes=[2])
    there = recover_pairs(pretrained, far[:4], construction="direct", modes=[2])
    shown = visible(references.windows[:4], here.counterpart, here.support)
    assert shown.any()
    assert (here.support[shown] == there.support[shown]).all()
    assert np.allclose(here.residual[shown], there.residual[shown], atol=1e-5)


def test_cut_and_paste_uses_only_own_data(rng: np.random.Generator) -> None:
    own = rng.permutation(40 * 256).reshape(40, 256).astype(np.float32)  # every value names a row
    for _ in range(50):
        start = int(rng.integers(0, 200))
        site = rules.Site(own[3], start, start + 40, own)
        pasted = rules.cut_and_paste(site, rng)
        row, column = np.argwhere(own == pasted[0])[0]
        assert (own[row, column : column + 40] == pasted).all()


def test_every_rule_changes_its_segment_and_nothing_else(rng: np.random.Generator) -> None:
    own = rng.standard_normal((10, 256)).astype(np.float32)
    for rule in rules.RULES:
        site = rules.Site(own[0].copy(), 100, 103 if rule is rules.spike else 150, own)
        changed = rule(site, rng)
        assert changed.shape == site.values.shape, rule.__name__
        assert np.isfinite(changed).all(), rule.__name__
        assert (changed != site.values).any(), rule.__name__
        assert (site.window == own[0]).all(), rule.__name__


def test_sequences_replace_the_whole_window(
    weights: Callable[[str], Pretrained], references: References
) -> None:
    pairs = recover_pairs(weights("sequence"), references[:5])
    outside = pairs.residual[~pairs.support]
    assert (outside != 0).mean() > 0.9
    with pytest.raises(InputError, match="sequences"):
        recover_pairs(weights("sequence"), references, construction="shuffled")


def test_effects_of_the_vae_stay_inside_their_support(
    weights: Callable[[str], Pretrained], references: References
) -> None:
    pairs = recover_pairs(weights("vae"), references[:5])
    assert (pairs.residual[~pairs.support] == 0).all()
    assert (pairs.residual[pairs.support] != 0).any()


@every_construction
def test_constant_short_and_gappy_series_have_counterparts(
    pretrained: Pretrained, rng: np.random.Generator, construction: Construction
) -> None:
    gappy = np.sin(np.arange(300.0))
    gappy[50:120] = np.nan
    for values in (np.zeros(300), np.arange(40.0) / 40, gappy):
        references = reference_windows(values, limit=3, rng=rng)
        if len(references) == 1 and construction == "shuffled":
            with pytest.raises(InputError, match="two or more"):
                recover_pairs(pretrained, references, construction=construction)
            continue
        pairs = recover_pairs(pretrained, references, modes=[2], construction=construction)
        assert len(pairs) == len(references)
        assert np.isfinite(pairs.counterpart).all()
        assert (pairs.residual[~pairs.support] == 0).all()
        assert pairs.trusted is references.trusted


def test_progress_counts_counterparts_up_to_all_of_them(
    pretrained: Pretrained, references: References
) -> None:
    seen: list[tuple[int, int]] = []
    recover_pairs(
        pretrained, references, batch=16, progress=lambda done, total: seen.append((done, total))
    )
    assert [done for done, _ in seen] == [16, 30, 46, 60, 76, 90]
    assert {total for _, total in seen} == {90}


def test_an_effect_below_a_tenth_of_the_local_std_does_not_show() -> None:
    window = np.sin(np.arange(256) / 5.0)[None].astype(np.float32)
    support = np.zeros((1, 256), dtype=bool)
    support[0, 100:110] = True
    least = LEAST * local_std(window, support)[0]
    for factor, shown in ((0.9, False), (1.1, True)):
        changed = window + np.float32(factor * least) * support
        assert visible(window, changed, support)[0] == shown


def test_impossible_requests_are_refused_with_a_remedy(
    pretrained: Pretrained, references: References
) -> None:
    for options, words in (
        ({"modes": []}, "name each of 0 to 2"),
        ({"modes": [0, 0]}, "name each of 0 to 2"),
        ({"modes": [3]}, "name each of 0 to 2"),
        ({"excluded": 5}, "exclude one of several"),
        ({"modes": [1], "excluded": 1}, "exclude one of several"),
        ({"construction": "magic"}, "choose from caps"),
        ({"construction": "injection", "excluded": 0}, "no modes to exclude"),
    ):
        with pytest.raises(InputError, match=words):
            recover_pairs(pretrained, references, **options)
    short = replace(
        references, windows=references.windows[:, :128], trusted=references.trusted[:, :128]
    )
    with pytest.raises(InputError, match="size=256"):
        recover_pairs(pretrained, short)


def test_concatenated_sets_keep_their_anchors(
    pretrained: Pretrained, references: References
) -> None:
    one = recover_pairs(pretrained, references[:7])
    two = recover_pairs(pretrained, references[7:9], construction="injection")
    both = PairSet.concatenate([one, two])
    assert len(both) == len(one) + len(two)
    assert len(both.reference) == 9
    assert (both.residual == np.concatenate([one.residual, two.residual])).all()
    assert (both.residual[~both.support] == 0).all()


def test_a_set_of_pairs_that_does_not_fit_together_is_refused() -> None:
    windows, marks = np.zeros((2, 8), np.float32), np.ones((2, 8), bool)
    number = np.zeros(2, dtype=np.int64)
    PairSet(windows, windows, marks, number, number, marks)
    with pytest.raises(InputError, match="mode"):
        PairSet(windows, windows, marks, number[:1], number, marks)
    with pytest.raises(InputError, match="lengths"):
        PairSet(windows, windows, marks[:, :4], number, number, marks)
    with pytest.raises(InputError, match="trusted"):
        PairSet(windows, windows, marks, number, number, marks[:1])
