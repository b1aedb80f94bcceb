"""Distances in full: of one query to every subsequence, and of subsequences to their k-th nearest.

Where the index sums up and looks for the nearest alone, these weigh single rows or count further
neighbours, in double precision.
"""

import numpy as np

from caps.arrays import FloatArray, Rows


def sliding_product(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of products at every index where the weights fit; wrapped ends are left out."""
    size = 1 << (len(values) - 1).bit_length()
    spectrum = np.fft.rfft(values, size) * np.conj(np.fft.rfft(weights, size))
    return np.asarray(np.fft.irfft(spectrum, size)[: len(values) - len(weights) + 1])


def distance_profile(query: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted squared distance of the query to every subsequence of the values."""
    product = sliding_product(values, weights * query)
    square = sliding_product(values**2, weights)
    return np.asarray(float((weights * query**2).sum()) - 2 * product + square)


def kth_distance(
    subsequences: FloatArray, starts: Rows, queries: Rows, among: Rows, k: int
) -> FloatArray:
    """Squared distance of the queries, given by number, to the k-th nearest that is apart."""
    these, those = subsequences[queries], subsequences[among]
    squares = (these**2).sum(axis=1)[:, None] + (those**2).sum(axis=1) - 2 * these @ those.T
    squares[np.abs(starts[queries][:, None] - starts[among]) < subsequences.shape[1]] = np.inf
    nearest = np.partition(squares, k - 1, axis=1)[:, k - 1]
    return np.asarray(np.maximum(nearest, 0.0))
