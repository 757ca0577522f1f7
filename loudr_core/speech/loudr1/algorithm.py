"""The algorithm of a loudr-1 bundle as values: every constant that moves a token or a sample.

A bundle's manifest fills these; `manifest` checks them, `fingerprint` hashes them. The defaults are
those of an absent manifest key (loudr-1 specification, sections 3.8, 4.1, 7.1 and 11.1).
"""

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "ACOUSTIC_TOKENS",
    "Algorithm",
    "Chunking",
    "COND_ROWS",
    "DecodeMode",
    "Detectors",
    "EMOTION",
    "MEL_BINS",
    "MEL_FRAMES",
    "PROMPT_FRAMES",
    "SAMPLES_PER_FRAME",
    "SAMPLES_PER_TOKEN",
    "Sampling",
    "TEXT_CLOSE",
    "TEXT_OPEN",
    "TextFunnelIdentity",
    "UNSET",
    "Unset",
    "VOCODER_FRAMES",
    "VOCODER_SAMPLES",
    "Window",
]

MEL_BINS = 80
SAMPLES_PER_FRAME = 480
SAMPLES_PER_TOKEN = 960
ACOUSTIC_TOKENS = 6561
"""Ids of the acoustic codebook are 0 to 6560; all above are marks and are never rendered."""
TEXT_OPEN, TEXT_CLOSE = 255, 0
COND_ROWS = 34
EMOTION = 0.5
MEL_FRAMES = 986
"""Frames of the flow's window: 238 prompt and 255 query tokens of two frames each."""
PROMPT_FRAMES = 476
VOCODER_FRAMES = 510
VOCODER_SAMPLES = VOCODER_FRAMES * SAMPLES_PER_FRAME

DecodeMode = Literal["single", "fusion_mtp2"]


class Unset:
    """The type of `UNSET`: a manifest key that is absent, where null means something else."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is drawn; section 9, with the end-of-speech floor of 10.1."""

    temperature: float = 0.8
    repetition_penalty: float = 1.2
    min_p: float = 0.05
    max_new_tokens: int = 255
    silence_token_ids: tuple[int, ...] = ()
    min_tokens_floor: int = 0
    min_tokens_text_ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the renderer takes at once; the defaults are a ragged window, which ONNX refuses."""

    max_speech_tokens: int = 255
    static_length: int | None = None
    pad_token_id: int | None = None
    static_prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How a passage is cut into windows; section 7."""

    enabled: bool = True
    max_tokens: int = 255
    prefix_tokens: int = 6
    split_on: tuple[str, ...] = (". ", "! ", "? ", "; ", ", ")
    abbreviations: tuple[str, ...] = (
        "A", "B", "Cpn", "D", "Dr", "F", "H", "Hr", "I", "J", "K", "M", "Mr", "Mrs", "R", "S",
        "St", "T", "V", "Vors", "dr", "mrs", "prof", "św",
    )  # fmt: skip
    cap_resplit: Literal["word", "off"] = "word"
    mid_sentence_period: Literal["hold", "break"] = "hold"
    first_chunk_max_tokens: int | Unset | None = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectors:
    """Constants of the token detectors; section 11.1. The manifest calls them `postprocess`."""

    mode: Literal["trim", "report", "off"] = "trim"
    ceiling_speech_per_text_token: float = 4.0
    ceiling_slack_tokens: int = 40
    trailing_filler_threshold: float = 0.7
    trailing_silence_run_tokens: int = 12
    desperation_band_ratio: float = 2.6
    desperation_band_floor: int = 12
    filler_min_eos_probability: float = 0.05
    desperation_speech_per_text_token: float = 4.5
    desperation_min_text_tokens: int = 10
    desperation_min_keep_per_text_token: float = 1.7
    ended_tail_silence_run: int = 6
    ended_tail_blip_max: int = 2
    ended_tail_word_max: int = 10
    filler_max_speech_after_run: int = 10
    ended_tail_keep: int = 5
    echo_strong_eos_probability: float = 0.10
    echo_strong_max_tail: int = 30
    echo_strong_min_position_pct: int = 68
    echo_weak_eos_probability: float = 0.003
    echo_weak_max_tail: int = 16
    echo_weak_min_position_pct: int = 85
    retry_max_attempts: int = 2
    pacing_tolerance: float = 1.6
    repetition_max_period: int = 12
    repetition_min_cycles: int = 3
    repetition_min_span: int = 24
    dropout_min_tokens: int = 25
    stall_run_tokens: int = 25
    repetition_resume: Literal["condemn", "cut"] = "condemn"
    repetition_silence: Literal["acoustic", "sampling"] = "acoustic"
    silence_render_ids: tuple[int, ...] = ()
    quiet_render_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFunnelIdentity:
    """Which text front end the bundle's fingerprint was made with."""

    recipe: str = "funnel-6"
    grammar: str = "71ad748c2caf97dd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """Everything that `fingerprint` hashes."""

    recipe_version: str = "loudkit-1"
    guidance: Literal["single_path", "cfg_dual_path"] = "single_path"
    guidance_rate: float = 0.0
    euler_steps: int = 2
    euler_grid: tuple[float, ...] | None = None
    decode_mode: DecodeMode = "single"
    edge_fade_seconds: float = 0.005
    sampling: Sampling = field(default_factory=Sampling)
    window: Window = field(default_factory=Window)
    chunking: Chunking = field(default_factory=Chunking)
    detectors: Detectors = field(default_factory=Detectors)
    text: TextFunnelIdentity = field(default_factory=TextFunnelIdentity)
    sample_rate_hz: int = 24_000
    token_rate_hz: float = 25.0
    speech_vocab_size: int = 8194
    start_speech_token: int = 6561
    stop_speech_token: int = 6562
