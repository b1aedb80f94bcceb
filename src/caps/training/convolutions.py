"""Convolutions along time in the order of memory that processors compute fastest.

Inside a network a batch is (batch, channel, 1, time), with the channels of a moment side by side in
memory, torch's `channels_last`. Plain `Conv1d` knows no such order and takes half as long again, in
training and in generation. The weights are those of the plain layers, by the same names.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, conv_transpose2d


def along_time(x: Tensor) -> Tensor:
    """(batch, channel, time) as the layers here want it: (batch, channel, 1, time).

    >>> along_time(torch.zeros(2, 3, 8)).shape
    torch.Size([2, 3, 1, 8])
    """
    return x.unsqueeze(2).contiguous(memory_format=torch.channels_last)


class Convolution(nn.Conv1d):
    """`Conv1d` with zeros around, on (batch, channel, 1, time)."""

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.unsqueeze(2)
        stride, padding, dilation = self.stride[0], int(self.padding[0]), self.dilation[0]
        return conv2d(x, weight, self.bias, (1, stride), (0, padding), (1, dilation))


class TransposedConvolution(nn.ConvTranspose1d):
    """`ConvTranspose1d` on (batch, channel, 1, time)."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        weight, stride, padding = self.weight.unsqueeze(2), self.stride[0], int(self.padding[0])
        return conv_transpose2d(x, weight, self.bias, (1, stride), (0, padding))
