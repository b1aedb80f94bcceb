"""Torch's work side by side: in order, one thread each, and ended together."""

from threading import Event

import pytest
import torch

from caps.jobs import in_torch_threads
from torch_threads import torch_threads


def test_every_job_finds_one_thread_and_torch_gets_its_own_back() -> None:
    with torch_threads(2):
        found = list(in_torch_threads(lambda job: (job, torch.get_num_threads()), "abc"))
        assert found == [("a", 1), ("b", 1), ("c", 1)]
        assert torch.get_num_threads() == 2


def test_a_job_that_fails_stops_the_others() -> None:
    stopped = Event()

    def work(job: int) -> None:
        if job == 0:
            raise ValueError("the first one")
        assert stopped.wait(60)

    with torch_threads(2), pytest.raises(ValueError, match="the first one"):
        list(in_torch_threads(work, range(2), stopped.set))
    assert stopped.is_set()
