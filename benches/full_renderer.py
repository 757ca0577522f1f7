"""The renderer of a full-size bundle: loudkit's own modules, random weights, ONNX graphs.

The transform inside the vocoder becomes convolutions, which is what ONNX can hold. Every frame is
voiced around 140 Hz, and the level is set so that the samples do not saturate.
"""

import math
from pathlib import Path

import numpy as np
import torch
from full_generator import export, fill, round_to_half
from loudkit.config import AlgorithmConfig
from loudkit.models.flow import TorchMelDecoder
from loudkit.models.vocoder import TorchVocoder
from torch import Tensor, nn
from torch.nn import functional

_N_FFT, _HOP, _PITCH_HZ, _LEVEL = 16, 4, 140.0, 0.05


def random_flow(config: AlgorithmConfig) -> TorchMelDecoder:
    """Return the mel decoder in evaluation mode; the estimator's weights fit float16."""
    model = TorchMelDecoder(config, attention="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            fill(name, weight)
        model.decoder.estimator.final_proj.weight.mul_(0.5)
        round_to_half(model.decoder.estimator)
    return model


def random_vocoder(config: AlgorithmConfig) -> TorchVocoder:
    """Return the vocoder in evaluation mode, its transforms as convolutions."""
    model = TorchVocoder(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            fill(name, weight)
        model.f0_predictor.classifier.weight.mul_(10)
        model.f0_predictor.classifier.bias.fill_(_PITCH_HZ)
        model.conv_post.weight.mul_(0.1)
        model.conv_post.bias[:9] = -4.0
        _exportable(model)
        mel, phase, noise = _example()
        level = model._render(mel, phase, noise).square().mean().sqrt()
        model.conv_post.bias[:9] += math.log(_LEVEL / level)  # magnitudes are its exponential
    return model


def export_renderer(flow: TorchMelDecoder, vocoder: TorchVocoder, folder: Path) -> None:
    """Write flow_encoder, flow_estimator and vocoder for the static window."""
    export(
        folder / "flow_encoder.onnx",
        _Encoder(flow),
        {
            "prompt_token": torch.randint(0, 6561, (1, 238)),
            "speech_tokens": torch.randint(0, 6561, (1, 255)),
        },
        output_names=["flow_encoder_out"],
    )
    frames = torch.randn(1, 80, 986)
    export(
        folder / "flow_estimator.onnx",
        flow.decoder.estimator,
        {
            "x": frames,
            "mu": frames + 1,
            "t": torch.tensor([0.3]),
            "spks": torch.randn(1, 80),
            "cond": frames + 2,
        },
        output_names=["flow_estimator_out"],
    )
    mel, phase, noise = _example()
    export(
        folder / "vocoder.onnx",
        _Vocoder(vocoder),
        {"mel": mel, "phase": phase, "noise": noise},
        output_names=["vocoder_out"],
    )


class _Encoder(nn.Module):
    def __init__(self, flow: TorchMelDecoder) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, prompt_token: Tensor, speech_tokens: Tensor) -> Tensor:
        rows = self.flow.input_embedding(torch.cat([prompt_token, speech_tokens], dim=1))
        return self.flow.encoder_proj(self.flow.encoder(rows)).transpose(1, 2)


class _Vocoder(nn.Module):
    def __init__(self, vocoder: TorchVocoder) -> None:
        super().__init__()
        self.vocoder = vocoder
        self.stft, self.istft = vocoder._stft, vocoder._istft  # names of constants in the graph

    def forward(self, mel: Tensor, phase: Tensor, noise: Tensor) -> Tensor:
        return self.vocoder._render(mel, phase, noise).reshape(1, -1)


class _Stft(nn.Module):
    """Short-time Fourier transform by convolution: real parts, then imaginary parts."""

    def __init__(self, window: Tensor) -> None:
        super().__init__()
        kernel = torch.cat(_waves(window))[:, None]
        self.register_buffer("kernel", kernel)

    def forward(self, samples: Tensor) -> Tensor:
        half = _N_FFT // 2
        padded = functional.pad(samples[:, None], (half, half), mode="reflect")
        return functional.conv1d(padded, self.kernel, stride=_HOP)


class _Istft(nn.Module):
    """Its inverse by transposed convolution, divided by the sum of the squared windows."""

    def __init__(self, window: Tensor, n_frames: int) -> None:
        super().__init__()
        share = torch.full((_N_FFT // 2 + 1, 1), 2 / _N_FFT)
        share[0] = share[-1] = 1 / _N_FFT
        real, imaginary = _waves(window)
        kernel = torch.cat([real * share, imaginary * share])[:, None]
        self.register_buffer("kernel", kernel)
        ones = torch.ones(1, 1, n_frames)
        square = window.square()[None, None]
        self.register_buffer("env", functional.conv_transpose1d(ones, square, stride=_HOP))

    def forward(self, magnitude: Tensor, phase: Tensor) -> Tensor:
        spectrum = torch.cat([magnitude * torch.cos(phase), magnitude * torch.sin(phase)], dim=1)
        samples = functional.conv_transpose1d(spectrum, self.kernel, stride=_HOP) / self.env
        half = _N_FFT // 2
        return samples[:, 0, half:-half]


def _waves(window: Tensor) -> tuple[Tensor, Tensor]:
    n = np.arange(_N_FFT)
    angle = 2 * np.pi * np.outer(np.arange(_N_FFT // 2 + 1), n) / _N_FFT
    real, imaginary = (torch.from_numpy(w).float() for w in (np.cos(angle), -np.sin(angle)))
    return real * window, imaginary * window


def _exportable(model: TorchVocoder) -> None:
    """Put the convolutions in place of the transforms, having seen that they are the same."""
    window = model.stft_window
    stft, istft = _Stft(window), _Istft(window, 61201)
    samples = torch.randn(1, 244800)
    spectrum = model._stft(samples)
    magnitude, phase = torch.rand(1, 9, 61201), torch.randn(1, 9, 61201)
    if not torch.allclose(stft(samples), spectrum, atol=1e-4):
        raise SystemExit("make_full_bundle: the reference's transform is another one now")
    if not torch.allclose(istft(magnitude, phase), model._istft(magnitude, phase), atol=1e-3):
        raise SystemExit("make_full_bundle: the reference's inverse transform is another one now")
    # Past `Module.__setattr__`, which would make them children that the methods of the class hide.
    model.__dict__.update(_stft=stft, _istft=istft)


def _example() -> tuple[Tensor, Tensor, Tensor]:
    phase = (torch.rand(1, 9, 1) * 2 - 1) * math.pi
    phase[:, 0] = 0
    return torch.randn(1, 80, 510), phase, torch.randn(1, 9, 244800)
