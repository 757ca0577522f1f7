"""What the manifest says of the three students, checked (sanoTTS specification, sections 3 to 5).

A value that nobody has seen at work is refused by its key: a student of another shape would speak,
and speak noise. Keys that only tell how a student was trained are not read.
"""

import math
from dataclasses import dataclass
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.speech.json_values import Section, shown

__all__ = [
    "HOP",
    "SAMPLE_RATE_HZ",
    "AcousticConfig",
    "AdapterConfig",
    "DecoderConfig",
    "DurationConfig",
    "needed",
    "read_acoustic",
    "read_decoder",
    "read_duration",
]

SAMPLE_RATE_HZ: Final = 22_050
HOP: Final = 256
"""Samples a frame: the decoder makes each frame 8 * 8 * 4 times as long."""

_MOST_WIDE: Final = 4096
_MOST_DEEP: Final = 64
_MOST_KERNEL: Final = 63
_LEAST_TOKENS: Final = 7
_STAGES: Final = 3
_ADAPTER_MODES: Final = ("affine", "depthwise", "lowrank", "depthwise_lowrank")


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationConfig:
    """The duration student: frames for each phoneme id."""

    vocab_size: int
    hidden: int
    depth: int
    kernel_size: int
    max_tokens: int
    """The length that the length hint is scaled by; longer rows of ids are cut by the caller."""
    max_duration: int
    """Most frames of one id."""
    unknown_id: int | None
    """Stands for an id that only the acoustic student knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterConfig:
    """The correction behind a calibrated acoustic student, on channels `start` to `end`."""

    mode: str
    kernel_size: int
    rank: int
    start: int
    end: int

    @property
    def depthwise(self) -> bool:
        """Whether each channel is filtered by itself."""
        return "depthwise" in self.mode

    @property
    def lowrank(self) -> bool:
        """Whether a low-rank mixture of the channels is added."""
        return "lowrank" in self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class AcousticConfig:
    """The acoustic student: ids and durations to latent frames."""

    vocab_size: int
    hidden: int
    token_depth: int
    depth: int
    kernel_size: int
    out_channels: int
    adapter: AdapterConfig | None = None

    @property
    def prefix(self) -> str:
        """What the names of its tensors begin with; those of the adapter lie beside them."""
        return "base." if self.adapter is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """The decoder student: latent frames to samples."""

    in_channels: int
    channels: tuple[int, int, int, int]
    branches: tuple[tuple[int, ...], ...]
    """For each of the three stages, which of the branches 0, 1, 2 were kept, in their order."""
    averaged_over_kept: bool
    """Whether a stage's sum is divided by the branches that were kept, or by all three."""
    filter_channels: int = 0
    filter_layers: int = 0
    filter_kernel: int = 9
    filter_scale: float = 0.25


def read_duration(config: Section) -> DurationConfig:
    """Return the duration student's configuration.

    Raises
    ------
    BundleError
        A key is missing, of another type, or has a value that this student cannot have.
    """
    _only(config, "architecture", ("duration_conv",))
    vocab_size = _size(config, "vocab_size")
    unknown = config.whole_or_null("duration_oov_id")
    if unknown is not None and not 0 <= unknown < vocab_size:
        raise config.fault("duration_oov_id", f"must be below vocab_size, found {shown(unknown)}")
    return DurationConfig(
        vocab_size=vocab_size,
        hidden=_size(config, "hidden"),
        depth=_size(config, "depth", least=0, most=_MOST_DEEP),
        kernel_size=_kernel(config, "kernel_size"),
        max_tokens=_size(config, "max_tokens", least=_LEAST_TOKENS, most=1 << 20),
        max_duration=_size(config, "max_duration"),
        unknown_id=unknown,
    )


def read_acoustic(config: Section) -> AcousticConfig:
    """Return the acoustic student's configuration; raises as `read_duration` does."""
    kind = _only(config, "architecture", ("token_context", "calibrated"))
    if kind == "token_context":
        return _acoustic(config, None)
    for key in ("base_config", "output_adapter"):
        needed(config, key)
    base = config.section("base_config")
    if "architecture" in base:
        _only(base, "architecture", ("token_context",))
    return _acoustic(base, config.section("output_adapter"))


def _acoustic(config: Section, adapter: Section | None) -> AcousticConfig:
    out_channels = _size(config, "out_channels")
    return AcousticConfig(
        vocab_size=_size(config, "vocab_size"),
        hidden=_size(config, "hidden"),
        token_depth=_size(config, "token_depth", least=0, most=_MOST_DEEP),
        depth=_size(config, "depth", least=0, most=_MOST_DEEP),
        kernel_size=_kernel(config, "kernel_size"),
        out_channels=out_channels,
        adapter=None if adapter is None else _adapter(adapter, out_channels),
    )


def _adapter(config: Section, out_channels: int) -> AdapterConfig:
    mode = _only(config, "mode", _ADAPTER_MODES)
    start = config.whole("start_channel", 0)
    end = config.whole("end_channel", out_channels)
    if not 0 <= start < end <= out_channels:
        raise config.fault(
            "end_channel", f"must lie above start_channel {start} and up to {out_channels}: {end}"
        )
    return AdapterConfig(
        mode=mode,
        kernel_size=_kernel(config, "kernel_size") if "depthwise" in mode else 1,
        rank=_size(config, "rank") if "lowrank" in mode else 0,
        start=start,
        end=end,
    )


def read_decoder(config: Section) -> DecoderConfig:
    """Return the decoder student's configuration; raises as `read_duration` does.

    `rank_ratio` is not read: the `piperlite` variant has whole convolutions whatever it says.
    """
    _only(config, "variant", ("piperlite",))
    _refuse_other_decoders(config)
    channels = config.wholes("channels")
    if len(channels) != _STAGES + 1 or not all(0 < each <= _MOST_WIDE for each in channels):
        raise config.fault("channels", f"must be four sizes, found {list(channels)}")
    filter_channels = _size(config, "post_filter_channels", least=0, default=0)
    return DecoderConfig(
        in_channels=_size(config, "in_channels"),
        channels=(channels[0], channels[1], channels[2], channels[3]),
        branches=tuple(_branches(config, f"stage{stage}_branches") for stage in range(_STAGES)),
        averaged_over_kept=(
            config.choice("res_bank_scale_mode", ("kept", "teacher"), "kept") == "kept"
        ),
        filter_channels=filter_channels,
        filter_layers=_size(config, "post_filter_layers", least=0, most=_MOST_DEEP, default=0),
        filter_kernel=_kernel(config, "post_filter_kernel", default=9),
        filter_scale=_filter_scale(config),
    )


def _filter_scale(config: Section) -> float:
    scale = config.number("post_filter_scale", 0.25)
    if not math.isfinite(scale):
        raise config.fault("post_filter_scale", f"must be finite, found {scale}")
    return scale


def _refuse_other_decoders(config: Section) -> None:
    """Refuse settings under which the decoder has other layers than those that are known."""
    config.choice("activation", ("leaky_relu",), "leaky_relu")
    if config.flag("stage_affine", False):
        raise config.fault("stage_affine", "must be false: affine stages are not known")
    if (layers := config.whole("res_layers", 1)) != 1:
        raise config.fault("res_layers", f"must be 1, found {layers}")
    for key in (
        "factorized_pre_rank", "piper_res_factor_rank_ratio", "pre_tanh_repair_channels",
    ):  # fmt: skip
        if (value := config.number(key, 0)) != 0:
            raise config.fault(key, f"must be 0, found {shown(value)}: those layers are not known")


def _branches(config: Section, key: str) -> tuple[int, ...]:
    kept = config.wholes(key) if key in config else (0, 1, 2)
    if not kept or len(set(kept)) != len(kept) or not set(kept) <= {0, 1, 2}:
        raise config.fault(key, f"must name some of the branches 0, 1, 2, found {list(kept)}")
    return kept


def needed(section: Section, key: str) -> None:
    """Refuse a section without a key.

    Raises
    ------
    BundleError
        The key is missing.
    """
    if key not in section:
        raise section.fault(key, "is missing")


def _only(config: Section, key: str, choices: tuple[str, ...]) -> str:
    needed(config, key)
    return config.choice(key, choices, choices[0])


def _size(
    config: Section,
    key: str,
    *,
    least: int = 1,
    most: int = _MOST_WIDE,
    default: int | None = None,
) -> int:
    if default is None:
        needed(config, key)
    value = config.whole(key, default or 0)
    if not least <= value <= most:
        raise _range(config, key, value, f"{least} to {most}")
    return value


def _kernel(config: Section, key: str, *, default: int | None = None) -> int:
    size = _size(config, key, most=_MOST_KERNEL, default=default)
    if size % 2 == 0:
        raise config.fault(key, f"must be odd, found {size}")
    return size


def _range(config: Section, key: str, value: int, allowed: str) -> BundleError:
    return config.fault(key, f"must be {allowed}, found {shown(value)}")
