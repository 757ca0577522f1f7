"""Sessions of onnxruntime, and the class of machine that their numbers belong to.

The only importer of onnxruntime among our modules. hibari opens a CPU session of its own inside its
constructor and takes none from outside; `embedded_voice` lets go of that one.

onnxruntime falls back to the CPU with a warning when a provider cannot load, so a render would end
hours late and still look right; `open_session` compares what it got with what was asked for.
"""

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from loudr_core.errors import BundleError, ConfigError, DeviceError

__all__ = [
    "PROVIDERS",
    "Port",
    "Resident",
    "available_providers",
    "open_session",
    "ports",
    "render_class",
    "run_resident",
]

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""Our names of providers, and onnxruntime's."""

FFT_BACKEND = "scipy.fft"
"""The one FFT that engines may use; another gives other low bits."""

_CPU_INFO = Path("/proc/cpuinfo")
# What onnxruntime's and numpy's kernels choose between. Each changes the order of sums.
_KERNEL_FLAGS = (
    "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",
    "asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2", "sme",
)  # fmt: skip


def open_session(
    model: Path | bytes,
    *,
    provider: str = "cpu",
    threads: int = 1,
    deterministic: bool = False,
    provider_options: dict[str, Any] | None = None,
) -> onnxruntime.InferenceSession:
    """Open a model on exactly the provider that was asked for.

    Parameters
    ----------
    model : Path or bytes
        An ONNX file or its content.
    provider : str
        A key of `PROVIDERS`.
    threads : int
        Threads inside one operator. More than one changes the order of sums, and the samples.
    deterministic : bool
        Ask for kernels that give the same bits in every run, where onnxruntime knows of others.
    provider_options : dict, optional
        Passed to the provider.

    Raises
    ------
    ConfigError
        The provider has no such name.
    DeviceError
        The provider is not built into this onnxruntime, or did not load.
    BundleError
        The model is missing, or is none that onnxruntime can load.
    """
    theirs = _available(provider)
    if isinstance(model, Path) and not model.is_file():
        raise BundleError(
            f"no model file {model}: check the bundle with `loudr bundle verify`", path=str(model)
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if deterministic:
        options.use_deterministic_compute = True
    source = str(model) if isinstance(model, Path) else model
    try:
        session = onnxruntime.InferenceSession(
            source, options, providers=[(theirs, provider_options or {})]
        )
    except Exception as error:  # its classes derive from Exception, privately
        raise _mapped(error, model, provider) from error
    found = session.get_providers()
    if not found or found[0] != theirs:
        raise DeviceError(
            f"provider {provider!r} did not load, onnxruntime fell back to {', '.join(found)}: "
            "check the driver and the CUDA libraries with `loudr doctor`",
            provider=provider,
            found=list(found),
        )
    return session


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a model.

    Parameters
    ----------
    name : str
    kind : str
        onnxruntime's name of the type, such as `tensor(float)`.
    shape : tuple of int or None
        None for an axis without a fixed length. Empty for a scalar, and where nothing is declared.
    """

    name: str
    kind: str
    shape: tuple[int | None, ...]


def ports(
    session: onnxruntime.InferenceSession,
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Return a session's inputs and outputs as its model declares them, in their order."""
    inputs, outputs = (
        tuple(
            Port(
                each.name,
                each.type,
                tuple(axis if isinstance(axis, int) else None for axis in each.shape),
            )
            for each in side
        )
        for side in (session.get_inputs(), session.get_outputs())
    )
    return inputs, outputs


Resident: TypeAlias = onnxruntime.OrtValue
"""An array that stays where the provider made it, until it is fed to a session again."""


def run_resident(
    session: onnxruntime.InferenceSession,
    feeds: Mapping[str, NDArray[Any]],
    kept: Mapping[str, Resident],
    *,
    fetch: Sequence[str],
    keep: Sequence[str],
) -> tuple[list[NDArray[Any]], list[Resident]]:
    """Run a session on arrays and on values of earlier runs, and leave some outputs where they are.

    A loop that feeds outputs back as inputs spares their way through numpy, which on a GPU is a way
    through the bus. The numbers are those of `session.run`.

    Parameters
    ----------
    session : InferenceSession
    feeds : mapping of str to array
        Inputs that come from numpy.
    kept : mapping of str to Resident
        Inputs that an earlier run left.
    fetch, keep : sequence of str
        Outputs wanted as arrays, and outputs to leave where they are.

    Returns
    -------
    list of array, list of Resident
        In the order of `fetch` and `keep`.
    """
    device = "cuda" if session.get_providers()[0] == PROVIDERS["cuda"] else "cpu"
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for name, value in kept.items():
        binding.bind_ortvalue_input(name, value)
    for name in fetch:
        binding.bind_output(name, "cpu")
    for name in keep:
        binding.bind_output(name, device)
    session.run_with_iobinding(binding)
    values = binding.get_outputs()
    return [value.numpy() for value in values[: len(fetch)]], list(values[len(fetch) :])


def render_class(provider: str = "cpu", *, precision: str = "float32") -> dict[str, str]:
    """Say what the samples depend on besides model and words; two machines that agree render alike.

    Parameters
    ----------
    provider : str
        A key of `PROVIDERS`.
    precision : str
        Of the weights or activations: `float32`, `int8-dynamic`, …

    Returns
    -------
    dict of str to str
        provider, cpu, versions of onnxruntime, numpy and scipy, precision, fft.

    Raises
    ------
    ConfigError, DeviceError
        As `open_session`.
    """
    _available(provider)
    return {
        "provider": provider,
        "cpu": _cpu_kernels(),
        "onnxruntime": onnxruntime.__version__,
        "numpy": np.__version__,
        "scipy": importlib.metadata.version("scipy"),
        "precision": precision,
        "fft": FFT_BACKEND,
    }


def available_providers() -> tuple[str, ...]:
    """Return the execution providers that the installed onnxruntime was built with."""
    return tuple(onnxruntime.get_available_providers())


def _available(provider: str) -> str:
    theirs = PROVIDERS.get(provider)
    if theirs is None:
        raise ConfigError(
            f"no provider {provider!r}: choose one of {', '.join(PROVIDERS)}", provider=provider
        )
    built_in = onnxruntime.get_available_providers()
    if theirs not in built_in:
        raise DeviceError(
            f"provider {provider!r} is not in this onnxruntime {onnxruntime.__version__}, "
            f"which has {', '.join(built_in)}: install requirements/gpu.txt, or ask for cpu",
            provider=provider,
            found=list(built_in),
        )
    return theirs


def _mapped(error: Exception, model: Path | bytes, provider: str) -> BundleError | DeviceError:
    name = str(model) if isinstance(model, Path) else f"{len(model)} bytes"
    reason = " ".join(str(error).split())[:300]
    if provider != "cpu" and ("CUDA" in reason or "memory" in reason.lower()):
        return DeviceError(f"cannot open {name} on {provider}: {reason}", provider=provider)
    return BundleError(f"cannot load model {name}: {reason}", path=name)


def _cpu_kernels() -> str:
    """Return the machine and the instruction sets that kernels choose by: `x86_64+avx2+fma`."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    flags = {
        flag
        for line in lines
        if line.lower().startswith(("flags", "features"))
        for flag in line.partition(":")[2].split()
    }
    known = [flag for flag in _KERNEL_FLAGS if flag in flags]
    if not known:  # not Linux: numpy knows the sets that it dispatches on
        config: Any = np.show_config(mode="dicts")
        known = sorted(config["SIMD Extensions"].get("found", []))
    return "+".join([platform.machine(), *known])
