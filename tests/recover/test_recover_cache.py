"""Counterparts are made once for the same content."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caps.errors import InputError
from caps.realize import Pretrained, Sampler
from caps.recover import References, recover_pairs


class Counter:
    """A progress callback: it is called when counterparts are made, not when they are read."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, done: int, total: int) -> None:
        self.calls += 1


def test_the_same_request_is_read_back_bit_by_bit(
    pretrained: Pretrained, references: References, tmp_path: Path
) -> None:
    made, read = Counter(), Counter()
    first = recover_pairs(pretrained, references, seed=1, cache=tmp_path, progress=made)
    again = recover_pairs(pretrained, references, seed=1, cache=tmp_path, progress=read)
    assert made.calls > 0
    assert read.calls == 0
    for name in ("reference", "counterpart", "support", "mode", "anchor", "trusted"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
        assert getattr(first, name).dtype == getattr(again, name).dtype, name
    fresh = recover_pairs(pretrained, references, seed=1)
    assert (fresh.counterpart == again.counterpart).all()


def test_every_change_of_the_request_is_made_anew(
    pretrained: Pretrained, references: References, tmp_path: Path
) -> None:
    moved = replace(references, windows=references.windows + np.float32(1e-6))
    other = replace(pretrained, facts={**pretrained.facts, "sha256": {"router": "0"}})
    slower = replace(pretrained, preset=replace(pretrained.preset, sampler=Sampler("ddim", 3)))
    requests = [
        (pretrained, references, {}),
        (pretrained, references, {"seed": 1}),
        (pretrained, references, {"modes": [0, 1]}),
        (pretrained, references, {"excluded": 1}),
        (pretrained, references, {"construction": "injection"}),
        (pretrained, references, {"sampler": Sampler("ddim", 2)}),
        (pretrained, moved, {}),
        (other, references, {}),
        (slower, references, {}),
    ]
    for weights, windows, options in requests:
        made = Counter()
        recover_pairs(weights, windows, cache=tmp_path, progress=made, **options)
        assert made.calls > 0, options
    assert len(list(tmp_path.iterdir())) == len(requests)


def test_a_damaged_entry_is_made_again(
    pretrained: Pretrained, references: References, tmp_path: Path
) -> None:
    first = recover_pairs(pretrained, references, cache=tmp_path)
    (entry,) = tmp_path.iterdir()
    damaged = entry / "columns.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    made = Counter()
    again = recover_pairs(pretrained, references, cache=tmp_path, progress=made)
    assert made.calls > 0
    assert (first.counterpart == again.counterpart).all()


def test_weights_without_a_name_cannot_be_cached(
    pretrained: Pretrained, references: References, tmp_path: Path
) -> None:
    nameless = replace(pretrained, facts={})
    with pytest.raises(InputError, match="save them"):
        recover_pairs(nameless, references, cache=tmp_path)
    assert len(recover_pairs(nameless, references)) == 90
