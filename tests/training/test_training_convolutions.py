"""Convolutions in the fast order of memory beside torch's plain ones."""

import pytest
import torch
from torch import nn

from caps.training import Convolution, TransposedConvolution, along_time

X = torch.randn(3, 8, 40, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "shape",
    [
        {"kernel_size": 1},
        {"kernel_size": 3, "padding": 4, "dilation": 4},
        {"kernel_size": 4, "padding": 1, "stride": 2},
    ],
    ids=["point", "dilated", "strided"],
)
def test_a_convolution_is_the_plain_one_with_its_weights(shape: dict[str, int]) -> None:
    plain, fast = nn.Conv1d(8, 16, **shape), Convolution(8, 16, **shape)
    fast.load_state_dict(plain.state_dict())
    answer = fast(along_time(X))
    assert answer.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(answer.squeeze(2), plain(X), rtol=1e-5, atol=1e-5)
    for layer, made in ((plain, plain(X)), (fast, answer)):
        made.square().sum().backward()
        assert layer.weight.grad is not None
    torch.testing.assert_close(fast.weight.grad, plain.weight.grad, rtol=1e-4, atol=1e-4)


def test_a_transposed_convolution_is_the_plain_one_with_its_weights() -> None:
    plain = nn.ConvTranspose1d(8, 16, 4, stride=2, padding=1)
    fast = TransposedConvolution(8, 16, 4, stride=2, padding=1)
    fast.load_state_dict(plain.state_dict())
    answer = fast(along_time(X)).squeeze(2)
    torch.testing.assert_close(answer, plain(X), rtol=1e-5, atol=1e-5)
