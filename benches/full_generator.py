"""The token generator of a full-size bundle: loudkit's own modules, random weights, ONNX graphs.

The weights are scaled so that rows have natural lengths: logits spread by 2.6, of which the sampler
keeps about fifteen, and the stop token is drawn at three steps in a hundred once it may. Its logit
comes from a channel of the residual stream that every row fills alike and no layer writes to.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from loudkit.config import AlgorithmConfig
from loudkit.models.generator import TorchTokenGenerator
from loudr1_language import SPEECH_VOCABULARY, START, STOP
from torch import Tensor, nn

ARCHITECTURE: dict[str, object] = {
    "hidden_size": 1024,
    "num_hidden_layers": 16,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 2100,
}
_LOGIT_SPREAD, _STOP_SHARE, _TEMPERATURE, _MIN_P = 2.6, 0.03, 0.8, 0.05
_CONSTANT = 6.0  # what channel 0 holds in every embedding


def random_generator(config: AlgorithmConfig) -> TorchTokenGenerator:
    """Return the generator in evaluation mode with calibrated weights that float16 can hold."""
    model = TorchTokenGenerator(config, ARCHITECTURE, attention="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            fill(name, weight)
        for layer in model.tfmr.layers:
            layer.self_attn.o_proj.weight[0] = 0
            layer.mlp.down_proj.weight[0] = 0
        for table in (model.text_emb, model.speech_emb):
            table.weight[:, 0] = _CONSTANT
        for table in (model.text_pos_emb.emb, model.speech_pos_emb.emb):
            table.weight.mul_(0.2)
            table.weight[:, 0] = 0
        if hasattr(model, "fuse"):
            model.fuse[2].weight[0] = 0
        round_to_half(model)
        _calibrate(model)
        round_to_half(model)
    return model


def fill(name: str, weight: Tensor) -> None:
    """Draw one parameter: unit norms, no biases, else variance one over the fan-in."""
    if weight.dim() < 2:
        is_scale = name.endswith(("weight", "alpha"))
        weight.fill_(1.0 if is_scale else 0.0)
    elif "emb" in name.rsplit(".", 2)[-2]:
        weight.normal_()
    else:
        weight.normal_(std=(weight[0].numel()) ** -0.5)


def round_to_half(module: nn.Module) -> None:
    """Round weights to what float16 holds, which is how a checkpoint stores them."""
    for weight in module.parameters():
        weight.copy_(weight.half().float())


def _calibrate(model: TorchTokenGenerator) -> None:
    rows = model.speech_emb(torch.randint(0, SPEECH_VOCABULARY, (1, 400)))
    hidden, _ = model.tfmr(rows, torch.arange(400), None, attention="eager")
    _scale_head(model.speech_head.weight, hidden[0, 40:])
    if hasattr(model, "head2"):
        after = torch.cat([hidden[0, 40:], rows[0, 40:]], dim=1)
        _scale_head(model.head2.weight, after)


def _scale_head(weight: Tensor, hidden: Tensor) -> None:
    """Give the logits their spread, and the stop token its share after the sampler's cut."""
    weight[:, 0] = 0
    weight[START] = weight[STOP] = 0
    weight.mul_(_LOGIT_SPREAD / (hidden @ weight.T).std())
    scores = (hidden @ weight.T).double().numpy() / _TEMPERATURE
    low, high = 0.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _stop_share(scores, middle) < _STOP_SHARE else (low, middle)
    weight[STOP, 0] = low * _TEMPERATURE / hidden[:, 0].mean()


def _stop_share(scores: np.ndarray, stop: float) -> float:
    scores[:, STOP] = stop
    top = scores.max(axis=1, keepdims=True)
    kept = np.where(scores >= top + np.log(_MIN_P), np.exp(scores - top), 0)
    return float((kept[:, STOP] / kept.sum(axis=1)).mean())


# ---------------------------------------------------------------- graphs


class _Cond(nn.Module):
    def __init__(self, model: TorchTokenGenerator, *, positions: bool) -> None:
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, speaker_emb: Tensor, prompt_tokens: Tensor, emotion: Tensor) -> Tensor:
        rows = self.model.speech_emb(prompt_tokens)
        if self.positions:
            rows = rows + self.model.speech_pos_emb.emb(torch.arange(prompt_tokens.shape[1]))
        return self.model.cond_enc(speaker_emb, rows, emotion)


class _Prefill(nn.Module):
    def __init__(self, model: TorchTokenGenerator, *, hidden: bool) -> None:
        super().__init__()
        self.model, self.hidden = model, hidden

    def forward(self, embeds: Tensor, positions: Tensor) -> tuple[Tensor, ...]:
        hidden, cache = self.model.tfmr(embeds, positions, None, attention="eager")
        last = (hidden[:, -1],) if self.hidden else ()
        return (self.model.speech_head(hidden), *last, *_flat(cache))


class _Step(nn.Module):
    def __init__(self, model: TorchTokenGenerator) -> None:
        super().__init__()
        self.model = model

    def forward(self, embeds: Tensor, position: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        hidden, cache = self.model.tfmr(embeds, position, _pairs(past), attention="eager")
        return (self.model.speech_head(hidden[:, -1]), *_flat(cache))


class _PairStep(nn.Module):
    def __init__(self, model: TorchTokenGenerator) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, pair_ids: Tensor, speech_position: Tensor, position: Tensor, *past: Tensor
    ) -> tuple[Tensor, ...]:
        model = self.model
        entries = model.speech_emb(pair_ids)
        slot = model._fuse_pair(entries[:, :1], entries[:, 1:])
        slot = slot + model.speech_pos_emb.emb(speech_position)
        hidden, cache = model.tfmr(slot, position, _pairs(past), attention="eager")
        return (model.speech_head(hidden[:, -1]), hidden[:, -1], *_flat(cache))


class _Second(nn.Module):
    def __init__(self, model: TorchTokenGenerator) -> None:
        super().__init__()
        self.model = model

    def forward(self, hidden: Tensor, first_id: Tensor) -> Tensor:
        return self.model.head2(torch.cat([hidden, self.model.speech_emb(first_id)], dim=1))


def _flat(cache: Sequence[tuple[Tensor, Tensor]]) -> Iterator[Tensor]:
    return (each for pair in cache for each in pair)


def _pairs(past: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return list(zip(past[::2], past[1::2], strict=True))


def _cache_names(stem: str) -> list[str]:
    return [f"{stem}_{kind}_{layer}" for layer in range(16) for kind in "kv"]


def export(path: Path, module: nn.Module, inputs: dict[str, Tensor], **options: Any) -> None:
    """Write one graph by the TorchScript path, opset 17."""
    torch.onnx.export(
        module,
        tuple(inputs.values()),
        str(path),
        input_names=list(inputs),
        opset_version=17,
        dynamo=False,
        **options,
    )


def export_generator(model: TorchTokenGenerator, folder: Path, *, turbo: bool) -> None:
    """Write t3_cond, t3_prefill and the step graphs, axes named as in the release."""
    axes = {1: "seq", 2: "kv"}
    kv, past, present = (_cache_names(stem) for stem in ("kv", "past", "present"))
    export(
        folder / "t3_cond.onnx",
        _Cond(model, positions=_prompt_has_positions(model)),
        {
            "speaker_emb": torch.randn(1, 256),
            "prompt_tokens": torch.randint(0, 6561, (1, 150)),
            "emotion": torch.full((1, 1), 0.5),
        },
        output_names=["t3_cond_out"],
        dynamic_axes={"prompt_tokens": {1: "seq"}},
    )
    export(
        folder / "t3_prefill.onnx",
        _Prefill(model, hidden=turbo),
        {"embeds": torch.randn(1, 60, 1024), "positions": torch.arange(60)},
        output_names=["logits", *(["hidden"] if turbo else []), *kv],
        dynamic_axes={"embeds": {1: "seq"}, "positions": {0: "seq"}, "logits": {1: "seq"}}
        | dict.fromkeys(kv, axes),
    )
    caches = {name: torch.randn(1, 4, 20, 64) for name in past}
    position = {"position": torch.tensor([20])}
    if not turbo:
        export(
            folder / "t3_step.onnx",
            _Step(model),
            {"embeds": torch.randn(1, 1, 1024), **position, **caches},
            output_names=["logits", *present],
            dynamic_axes={"embeds": {1: "seq"}} | dict.fromkeys([*past, *present], axes),
        )
        return
    pair = {"pair_ids": torch.tensor([[1, 2]]), "speech_position": torch.tensor([3])}
    export(
        folder / "t3_pair_step.onnx",
        _PairStep(model),
        {**pair, **position, **caches},
        output_names=["logits", "hidden", *present],
        dynamic_axes=dict.fromkeys([*past, *present], axes),
    )
    export(
        folder / "t3_head2.onnx",
        _Second(model),
        {"hidden": torch.randn(1, 1024), "first_id": torch.tensor([7])},
        output_names=["logits"],
    )


def _prompt_has_positions(model: TorchTokenGenerator) -> bool:
    """Find out, by asking the whole model for its prompt, whether the voice's tokens are placed."""
    from loudkit.voice import VoiceProfile

    rng = np.random.default_rng(3)
    tokens = rng.integers(0, 6561, 150)
    voice = VoiceProfile(
        speaker_embedding=rng.standard_normal(256, np.float32),
        flow_embedding=rng.standard_normal(192, np.float32),
        prompt_tokens=tokens,
        prompt_mel=np.zeros((80, 300), np.float32),
        cond_prompt_tokens=tokens,
        name="any",
    )
    with torch.no_grad():
        wanted = model.prefill_embeds(np.array([5, 6], np.int64), voice).reshape(-1, 1024)[:34]
        for positions in (True, False):
            found = _Cond(model, positions=positions)(
                torch.from_numpy(voice.speaker_embedding)[None],
                torch.from_numpy(tokens)[None],
                torch.full((1, 1), 0.5),
            )
            if torch.allclose(found[0], wanted, atol=1e-4):
                return positions
    raise SystemExit("make_full_bundle: the reference builds its conditioning rows in a new way")
