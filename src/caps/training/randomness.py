"""Randomness without hidden state: a pure function of a seed and a key."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

CPU = torch.device("cpu")


@contextmanager
def seeded(seed: int, *key: int | str, device: torch.device = CPU) -> Iterator[np.random.Generator]:
    """Give a generator made from `seed` and `key`; torch draws from the same source in the block.

    Build networks in it, so that their first weights are a function of the seed. The state that
    torch's own generators had before comes back afterwards.

    >>> with seeded(7, "router"):
    ...     first = torch.rand(3)
    >>> with seeded(7, "router"):
    ...     bool((torch.rand(3) == first).all())
    True
    """
    words = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in key]
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))
    with torch.random.fork_rng(**_generators_of(device)):
        torch_seed = int(generator.integers(2**63))
        torch.default_generator.manual_seed(torch_seed)
        if device.type != "cpu":
            torch.get_device_module(device).manual_seed(torch_seed)
        yield generator


def _generators_of(device: torch.device) -> dict[str, object]:
    # MPS has one generator, which fork_rng cannot name by index: it is seeded but not put back.
    if device.type in ("cpu", "mps"):
        return {"devices": []}
    return {"devices": [device.index or 0], "device_type": device.type}
