"""The layers that the three students are made of, in numpy (sanoTTS specification, section 3).

An array of features has shape (channels, length). Whatever floating type goes in comes out.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Features",
    "Tensors",
    "conv1d",
    "conv_transpose1d",
    "leaky_relu",
    "ramp",
    "residual_block",
    "silu",
]

Features: TypeAlias = NDArray[np.floating[Any]]
"""Floating, shape (channels, length)."""

Tensors: TypeAlias = Mapping[str, NDArray[np.float32]]
"""The tensors of one student by name, float32."""


def conv1d(
    x: Features, weight: Features, bias: Features | None = None, *, dilation: int = 1
) -> Features:
    """Return a cross-correlation of the same length, zeros beyond both ends.

    Parameters
    ----------
    x : shape (inputs, n)
    weight : shape (outputs, inputs, kernel)
        An odd kernel.
    bias : shape (outputs,), optional
    dilation : int

    Returns
    -------
    shape (outputs, n)
    """
    length, kernel = x.shape[1], weight.shape[2]
    if kernel == 1:
        out = weight[:, :, 0] @ x
    else:
        edge = dilation * (kernel // 2)
        padded = np.pad(x, ((0, 0), (edge, edge)))
        out = weight[:, :, 0] @ padded[:, :length]
        for tap in range(1, kernel):
            out += weight[:, :, tap] @ padded[:, tap * dilation : tap * dilation + length]
    if bias is not None:
        out += bias[:, None]
    return out


def conv_transpose1d(
    x: Features, weight: Features, bias: Features, *, stride: int, padding: int
) -> Features:
    """Return a transposed convolution, `padding` samples cut from both ends.

    Parameters
    ----------
    x : shape (inputs, n)
    weight : shape (inputs, outputs, kernel)
    bias : shape (outputs,)
    stride, padding : int

    Returns
    -------
    shape (outputs, (n - 1) * stride + kernel - 2 * padding)
    """
    length, kernel = x.shape[1], weight.shape[2]
    whole = np.zeros((weight.shape[1], (length - 1) * stride + kernel), x.dtype)
    for tap in range(kernel):
        whole[:, tap : tap + (length - 1) * stride + 1 : stride] += weight[:, :, tap].T @ x
    out = whole[:, padding : whole.shape[1] - padding]
    return out + bias[:, None]


def silu(x: Features) -> Features:
    """Return x / (1 + e^-x)."""
    with np.errstate(over="ignore"):  # e^-x of a large negative x is infinite, and x / inf is 0
        out: Features = x / (1 + np.exp(-x))
    return out


def leaky_relu(x: Features, slope: float) -> Features:
    """Return x where it is positive, and `slope` times x elsewhere."""
    return np.where(x > 0, x, x * x.dtype.type(slope))


def residual_block(x: Features, tensors: Tensors, prefix: str) -> Features:
    """Return x + scale * conv(silu(conv(x)))."""
    inner = conv1d(x, tensors[f"{prefix}.net.0.weight"], tensors[f"{prefix}.net.0.bias"])
    outer = conv1d(silu(inner), tensors[f"{prefix}.net.2.weight"], tensors[f"{prefix}.net.2.bias"])
    return x + tensors[f"{prefix}.scale"] * outer


def ramp(count: int) -> NDArray[np.float32]:
    """Return `count` values from 0 to 1, the second half counted back from 1; [0] for one.

    float32 throughout, as the students were trained with it; another rounding moves a duration by a
    frame now and then (sanoTTS specification, section 3).
    """
    if count == 1:
        return np.zeros(1, np.float32)
    place = np.arange(count)
    step = np.float32(1) / np.float32(count - 1)
    forth = step * place.astype(np.float32)
    back = np.float32(1) - step * (count - 1 - place).astype(np.float32)
    return np.where(2 * place < count, forth, back)
