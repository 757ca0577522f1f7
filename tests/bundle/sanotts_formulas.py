"""The formulas of Root A in double precision, written from the specification and nothing else.

Slow and plain: every convolution is a sum over taps at each place, and no code of loudr is used.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["acoustic", "adapter", "conv", "conv_transpose", "decoder", "duration"]

Array = NDArray[np.float64]
Tensors = Mapping[str, NDArray[Any]]

_BRANCHES = ((3, 1, 2), (5, 2, 6), (7, 3, 12))


def conv(x: Array, tensors: Tensors, name: str, d: int = 1) -> Array:
    w = tensors[f"{name}.weight"].astype(np.float64)
    b = tensors.get(f"{name}.bias")
    outputs, _, k = w.shape
    n = x.shape[1]
    y = np.zeros((outputs, n))
    for place in range(n):
        for tap in range(k):
            source = place + d * (tap - k // 2)
            if 0 <= source < n:
                y[:, place] += w[:, :, tap] @ x[:, source]
    return y if b is None else y + b.astype(np.float64)[:, None]


def conv_transpose(x: Array, tensors: Tensors, name: str, s: int, p: int) -> Array:
    w = tensors[f"{name}.weight"].astype(np.float64)
    _, outputs, k = w.shape
    n = x.shape[1]
    y = np.zeros((outputs, (n - 1) * s + k - 2 * p))
    for place in range(n):
        for tap in range(k):
            target = place * s + tap - p
            if 0 <= target < y.shape[1]:
                y[:, target] += w[:, :, tap].T @ x[:, place]
    return y + tensors[f"{name}.bias"].astype(np.float64)[:, None]


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def leaky(x: Array, slope: float) -> Array:
    return np.maximum(x, 0) + slope * np.minimum(x, 0)


def block(x: Array, t: Tensors, name: str) -> Array:
    inner = silu(conv(x, t, f"{name}.net.0"))
    return x + float(t[f"{name}.scale"].reshape(-1)[0]) * conv(inner, t, f"{name}.net.2")


def ramp(n: int) -> Array:
    return np.arange(n) / (n - 1) if n > 1 else np.zeros(1)


def duration(ids: Sequence[int], t: Tensors, c: Mapping[str, Any], scale: float = 1.0) -> Array:
    """Return durations before they are rounded and clipped to the longest."""
    n = len(ids)
    e = t["embedding.weight"].astype(np.float64)[list(ids)].T
    f1 = np.log1p(n) / np.log1p(c["max_tokens"])
    x = conv(np.vstack([e, ramp(n), np.full(n, f1), np.ones(n)]), t, "input_proj")
    for i in range(c["depth"]):
        x = block(x, t, f"blocks.{i}")
    return np.maximum(np.exp(conv(x, t, "output")[0]), 1) * scale


def acoustic(ids: Sequence[int], d: Sequence[int], t: Tensors, c: Mapping[str, Any]) -> Array:
    if c["architecture"] == "calibrated":
        base = {k.removeprefix("base."): v for k, v in t.items() if k.startswith("base.")}
        z = acoustic(ids, d, base, c["base_config"])
        return adapter(z, t, c["output_adapter"])
    n = len(ids)
    e = t["embedding.weight"].astype(np.float64)[list(ids)].T
    g1 = np.log1p(d) / np.log1p(max(*d, 1)) if n > 1 else np.ones(1)
    x = conv(np.vstack([e, ramp(n), g1]), t, "token_input_proj")
    for i in range(c["token_depth"]):
        x = block(x, t, f"token_blocks.{i}")
    columns, q1, q2 = [], [], []
    for i, frames in enumerate(d):
        for j in range(frames):
            columns.append(x[:, i])
            q1.append(i / max(n - 1, 1))
            q2.append(j / (frames - 1) if frames > 1 else 0.0)
    y = np.vstack([np.array(columns).T, ramp(len(q1)), q1, q2])
    y = conv(y, t, "frame_input_proj")
    for i in range(c["depth"]):
        y = block(y, t, f"frame_blocks.{i}")
    return conv(y, t, "output")


def adapter(z: Array, t: Tensors, c: Mapping[str, Any]) -> Array:
    part = slice(c["start_channel"], c["end_channel"])
    w = z[part]
    if "depthwise" in c["mode"]:
        weight = t["adapter.depthwise.weight"]
        rows = [conv(row[None], {"x.weight": weight[i][None]}, "x")[0] for i, row in enumerate(w)]
        w = np.array(rows)
    if "lowrank" in c["mode"]:
        w = w + conv(np.tanh(conv(w, t, "adapter.down")), t, "adapter.up")
    out = z.copy()
    out[part] = w * t["adapter.scale"].astype(float)[:, None] + t["adapter.bias"][:, None]
    return out


def decoder(z: Array, t: Tensors, c: Mapping[str, Any]) -> Array:
    x = conv(z, t, "pre")
    for s, (stride, p) in enumerate(((8, 4), (8, 4), (4, 2))):
        x = conv_transpose(leaky(x, 0.1), t, f"up{s}", stride, p)
        kept = c[f"stage{s}_branches"]
        total = np.zeros_like(x)
        for position, b in enumerate(kept):
            _, d1, d2 = _BRANCHES[b]
            name = f"res{s}.0.blocks.{position}"
            y = conv(leaky(x, 0.1), t, f"{name}.conv1", d1) + x
            total += conv(leaky(y, 0.1), t, f"{name}.conv2", d2) + y
        x = total / (len(kept) if c["res_bank_scale_mode"] == "kept" else 3)
    w = np.tanh(conv(leaky(x, 0.01), t, "post"))
    if c["post_filter_channels"]:
        r = conv(w, t, "post_filter.in_conv")
        for layer in range(c["post_filter_layers"]):
            unit = f"post_filter.units.{layer}"
            inner = conv(leaky(r, 0.1), t, f"{unit}.conv1", 1 + layer)
            r = r + float(t[f"{unit}.scale"].reshape(-1)[0]) * conv(
                leaky(inner, 0.1), t, f"{unit}.conv2"
            )
        w = np.tanh(w + c["post_filter_scale"] * conv(r, t, "post_filter.out_conv"))
    return w[0]
