"""The parts of the representation objective, each its own function (section 4.1)."""

from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

TINY = 1e-6  # eta of the masked means


def masked_l1(u: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """maskedL1(u, v, q) = sum q |u - v| / (sum q + eta), averaged over the rows."""
    return ((mask * (u - v).abs()).sum(-1) / (mask.sum(-1) + TINY)).mean()


def masked_mse(u: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """maskedMSE, defined like maskedL1."""
    return ((mask * (u - v).square()).sum(-1) / (mask.sum(-1) + TINY)).mean()


def reconstruction(
    normal_hat: Tensor, normal: Tensor, anomalous_hat: Tensor, anomalous: Tensor
) -> Tensor:
    """L_rec = 1/2 [MSE(x_n^, x_n) + MSE(x_a^, x_a)] (eq. 1)."""
    return 0.5 * (mse_loss(normal_hat, normal) + mse_loss(anomalous_hat, anomalous))


def background(
    base_normal: Tensor, normal: Tensor, base_anomalous: Tensor, anomalous: Tensor, support: Tensor
) -> Tensor:
    """L_base = MSE(base(z_ns), x_n) + maskedL1(base(z_as), x_a, 1 - m) (eq. 2)."""
    return mse_loss(base_normal, normal) + masked_l1(base_anomalous, anomalous, 1 - support)


def disentanglement(z_ns: Tensor, z_as: Tensor, z_na: Tensor) -> Tensor:
    """L_dis = |z_ns - z_as|^2 + |z_na|^2 (eq. 3), as means over the dimensions.

    Summed over 128 dimensions the term outweighs every reconstruction and the codes collapse.
    """
    return mse_loss(z_ns, z_as) + z_na.square().mean()


def recombination(recombined: Tensor, anomalous: Tensor) -> Tensor:
    """L_cf = MSE(Dec(z_ns, z_a, m), x_a) (eq. 4)."""
    return mse_loss(recombined, anomalous)


def organisation(family_logits: Tensor, family: Tensor) -> Tensor:
    """Cross-entropy of the simulated family read off z_a by a linear map; not in the paper.

    The four parts never see the family, and z_a may mix families freely: then one Gaussian for
    each mode fits badly and the router has little to go by.
    """
    return cross_entropy(family_logits, family)
