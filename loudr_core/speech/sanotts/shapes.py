"""Names and shapes of every tensor of each student (sanoTTS specification, sections 3 to 5)."""

from typing import Final, TypeAlias

from loudr_core.speech.sanotts.configs import AcousticConfig, DecoderConfig, DurationConfig

__all__ = [
    "BRANCHES",
    "PRE_KERNEL",
    "STAGES",
    "Shapes",
    "acoustic_shapes",
    "decoder_shapes",
    "duration_shapes",
]

Shapes: TypeAlias = dict[str, tuple[int, ...]]
"""Tensor name to shape; () is a scalar, which may also be written as (1,)."""

STAGES: Final = ((16, 8, 4), (16, 8, 4), (8, 4, 2))
"""Kernel, stride and padding of each upsampling."""
BRANCHES: Final = ((3, 1, 2), (5, 2, 6), (7, 3, 12))
"""Kernel and the two dilations of each branch of a residual bank."""

PRE_KERNEL: Final = 7
"""Of the first projection and of the last."""


def duration_shapes(config: DurationConfig) -> Shapes:
    """Return the tensors of a duration student."""
    width = config.hidden
    shapes: Shapes = {"embedding.weight": (config.vocab_size, width)}
    shapes |= _conv("input_proj", width, width + 3, 1)
    for index in range(config.depth):
        shapes |= _block(f"blocks.{index}", width, config.kernel_size)
    return shapes | _conv("output", 1, width, 1)


def acoustic_shapes(config: AcousticConfig) -> Shapes:
    """Return the tensors of an acoustic student, those of its adapter included."""
    width = config.hidden
    shapes: Shapes = {"embedding.weight": (config.vocab_size, width)}
    shapes |= _conv("token_input_proj", width, width + 2, 1)
    for index in range(config.token_depth):
        shapes |= _block(f"token_blocks.{index}", width, config.kernel_size)
    shapes |= _conv("frame_input_proj", width, width + 3, 1)
    for index in range(config.depth):
        shapes |= _block(f"frame_blocks.{index}", width, config.kernel_size)
    shapes |= _conv("output", config.out_channels, width, 1)
    shapes = {f"{config.prefix}{name}": shape for name, shape in shapes.items()}
    adapter = config.adapter
    if adapter is None:
        return shapes
    count = adapter.end - adapter.start
    shapes |= {"adapter.scale": (count,), "adapter.bias": (count,)}
    if adapter.depthwise:
        shapes["adapter.depthwise.weight"] = (count, 1, adapter.kernel_size)
    if adapter.lowrank:
        shapes["adapter.down.weight"] = (adapter.rank, count, 1)
        shapes["adapter.up.weight"] = (count, adapter.rank, 1)
    return shapes


def decoder_shapes(config: DecoderConfig) -> Shapes:
    """Return the tensors of a decoder student, those of its post filter included."""
    shapes = _conv("pre", config.channels[0], config.in_channels, PRE_KERNEL)
    for stage, (kernel, _, _) in enumerate(STAGES):
        before, after = config.channels[stage : stage + 2]
        shapes[f"up{stage}.weight"] = (before, after, kernel)
        shapes[f"up{stage}.bias"] = (after,)
        for place, branch in enumerate(config.branches[stage]):
            # Counted by its place among those that were kept, not by the number of the branch.
            prefix = f"res{stage}.0.blocks.{place}"
            for part in ("conv1", "conv2"):
                shapes |= _conv(f"{prefix}.{part}", after, after, BRANCHES[branch][0])
    shapes |= _conv("post", 1, config.channels[3], PRE_KERNEL)
    if count := config.filter_channels:
        shapes |= _conv("post_filter.in_conv", count, 1, config.filter_kernel)
        for layer in range(config.filter_layers):
            prefix = f"post_filter.units.{layer}"
            shapes[f"{prefix}.scale"] = ()
            for part in ("conv1", "conv2"):
                shapes |= _conv(f"{prefix}.{part}", count, count, 3)
        shapes |= _conv("post_filter.out_conv", 1, count, config.filter_kernel)
    return shapes


def _conv(name: str, outputs: int, inputs: int, kernel: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs, kernel), f"{name}.bias": (outputs,)}


def _block(name: str, width: int, kernel: int) -> Shapes:
    return {
        f"{name}.scale": (),
        **_conv(f"{name}.net.0", width, width, kernel),
        **_conv(f"{name}.net.2", width, width, kernel),
    }
