"""The ONNX graphs of a bundle: opened, compared with the published signatures, run by name.

A graph with another input, type or axis would fail in the middle of a book, or worse, speak
something; here it is refused before the first word (loudr-1 specification, sections 3.7 and 18.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.algorithm import (
    COND_ROWS,
    MEL_BINS,
    MEL_FRAMES,
    VOCODER_FRAMES,
    VOCODER_SAMPLES,
    Algorithm,
)
from loudr_core.speech.session import Port, Resident, open_session, ports, run_resident
from loudr_core.speech.signatures import run_failure, shown_axes

__all__ = [
    "HIDDEN",
    "LAYERS",
    "PAST_NAMES",
    "PREFILL_KV_NAMES",
    "PRESENT_NAMES",
    "Graph",
    "Signature",
    "open_graphs",
    "signatures",
]

HIDDEN = 1024
LAYERS, KV_HEADS, HEAD_DIM = 16, 4, 64


def _cache_names(stem: str) -> tuple[str, ...]:
    return tuple(f"{stem}_{kind}_{layer}" for layer in range(LAYERS) for kind in "kv")


PREFILL_KV_NAMES = _cache_names("kv")
"""Outputs of the prefill that hold the KV cache, each [1, 4, past, 64], in the order of layers."""
PAST_NAMES = _cache_names("past")
PRESENT_NAMES = _cache_names("present")

_FLOAT, _INT = "tensor(float)", "tensor(int64)"


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes into a graph and comes out, no more and no less; None is an axis of any length.

    An output that the caller reshapes has an empty shape here: nothing is asked of its axes. One of
    an empty kind may have any.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def signatures(algorithm: Algorithm) -> dict[str, Signature]:
    """Return the published signature of each graph that speaking needs in the decode mode."""
    renderer = _renderer_signatures()
    logits = Port("logits", _FLOAT, (1, None, algorithm.speech_vocab_size))
    last_logits = Port("logits", _FLOAT, (1, algorithm.speech_vocab_size))
    hidden = Port("hidden", _FLOAT, (1, HIDDEN))
    position = Port("position", _INT, (1,))
    prompt = (Port("embeds", _FLOAT, (1, None, HIDDEN)), Port("positions", _INT, (None,)))
    prefill_kv, past, present = map(_cache_ports, (PREFILL_KV_NAMES, PAST_NAMES, PRESENT_NAMES))
    if algorithm.decode_mode == "single":
        row = Port("embeds", _FLOAT, (1, 1, HIDDEN))
        return {
            "t3_prefill": Signature(prompt, (logits, *prefill_kv)),
            "t3_step": Signature((row, position, *past), (last_logits, *present)),
            **renderer,
        }
    pair = (Port("pair_ids", _INT, (1, 2)), Port("speech_position", _INT, (1,)), position)
    return {
        "t3_prefill": Signature(prompt, (logits, hidden, *prefill_kv)),
        "t3_pair_step": Signature((*pair, *past), (last_logits, hidden, *present)),
        "t3_head2": Signature((hidden, Port("first_id", _INT, (1,))), (last_logits,)),
        **renderer,
    }


def _renderer_signatures() -> dict[str, Signature]:
    """Return the signatures of the graphs that both decode modes have."""
    mel_window = (1, MEL_BINS, MEL_FRAMES)
    return {
        "t3_cond": Signature(
            (
                Port("speaker_emb", _FLOAT, (1, 256)),
                Port("prompt_tokens", _INT, (1, None)),
                Port("emotion", _FLOAT, (1, 1)),
            ),
            (Port("t3_cond_out", _FLOAT, (1, COND_ROWS, HIDDEN)),),
        ),
        "flow_encoder": Signature(
            (Port("prompt_token", _INT, (1, 238)), Port("speech_tokens", _INT, (1, 255))),
            (Port("flow_encoder_out", _FLOAT, ()),),
        ),
        "flow_estimator": Signature(
            (
                Port("x", _FLOAT, mel_window),
                Port("mu", _FLOAT, mel_window),
                Port("t", _FLOAT, (1,)),
                Port("spks", _FLOAT, (1, MEL_BINS)),
                Port("cond", _FLOAT, mel_window),
            ),
            (Port("flow_estimator_out", _FLOAT, ()),),
        ),
        "vocoder": Signature(
            (
                Port("mel", _FLOAT, (1, MEL_BINS, VOCODER_FRAMES)),
                Port("phase", _FLOAT, (1, 9, 1)),
                Port("noise", _FLOAT, (1, 9, VOCODER_SAMPLES)),
            ),
            (Port("vocoder_out", _FLOAT, ()),),
        ),
    }


def _cache_ports(names: tuple[str, ...]) -> tuple[Port, ...]:
    return tuple(Port(name, _FLOAT, (1, KV_HEADS, None, HEAD_DIM)) for name in names)


class Graph:
    """A graph that has its published signature.

    Parameters
    ----------
    name : str
        Without suffix, for messages.
    path : Path
    signature : Signature
    provider : str
    threads : int
        As `open_session` takes them.

    Raises
    ------
    BundleError
        The file is missing, cannot be loaded, or has another signature.
    DeviceError
        The provider is not there.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        signature: Signature,
        *,
        provider: str = "cpu",
        threads: int = 1,
    ) -> None:
        self.name = name
        self._session = open_session(path, provider=provider, threads=threads, deterministic=True)
        inputs, outputs = ports(self._session)
        for side, expected, found in (
            ("input", signature.inputs, inputs),
            ("output", signature.outputs, outputs),
        ):
            declared = {port.name for port in expected}
            for port in found:
                # One output more is how the graph of another decode mode shows.
                if port.name not in declared:
                    raise _refused(
                        name, path, f"has an {side} {port.name!r} that nothing is known of"
                    )
            by_name = {port.name: port for port in found}
            for port in expected:
                _check(name, path, side, port, by_name.get(port.name))
        self._outputs = tuple(port.name for port in signature.outputs)

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """Return the outputs in the order of the signature.

        Raises
        ------
        SynthesisError
            The graph failed on these inputs.
        DeviceError
            The device has no memory left.
        """
        try:
            results: list[NDArray[Any]] = self._session.run(self._outputs, dict(feeds))
        except Exception as error:  # onnxruntime's classes derive from Exception, privately
            raise run_failure(error, self.name, called=f"graph {self.name}") from error
        return results

    def run_resident(
        self,
        feeds: Mapping[str, NDArray[Any]],
        kept: Mapping[str, Resident],
        *,
        fetch: Sequence[str],
        keep: Sequence[str],
    ) -> tuple[list[NDArray[Any]], list[Resident]]:
        """Run on arrays and on values that earlier runs left; see `session.run_resident`.

        Raises
        ------
        SynthesisError, DeviceError
            As `run`.
        """
        try:
            return run_resident(self._session, feeds, kept, fetch=fetch, keep=keep)
        except Exception as error:  # as above
            raise run_failure(error, self.name, called=f"graph {self.name}") from error


def open_graphs(
    paths: Mapping[str, Path], algorithm: Algorithm, *, provider: str = "cpu", threads: int = 1
) -> dict[str, Graph]:
    """Open every graph that speaking needs.

    Parameters
    ----------
    paths : mapping of str to Path
        Graph name without suffix to file.
    algorithm : Algorithm
        Its decode mode says which graphs.
    provider : str
    threads : int

    Raises
    ------
    BundleError
        A graph is missing or has another signature than the published one.
    DeviceError
        The provider is not there.
    """
    wanted = signatures(algorithm)
    if missing := sorted(wanted.keys() - paths.keys()):
        raise BundleError(
            f"the bundle has no graph {', '.join(missing)}, which decode mode "
            f"{algorithm.decode_mode!r} needs: fetch the bundle again",
            key=missing[0],
        )
    return {
        name: Graph(name, paths[name], signature, provider=provider, threads=threads)
        for name, signature in wanted.items()
    }


def _check(name: str, path: Path, side: str, expected: Port, found: Port | None) -> None:
    if found is None:
        raise _refused(name, path, f"has no {side} {expected.name!r}")
    if expected.kind and found.kind != expected.kind:
        raise _refused(
            name, path, f"has {side} {expected.name!r} of {found.kind}, expected {expected.kind}"
        )
    if not expected.shape or (side == "output" and not found.shape):
        return
    same = len(found.shape) == len(expected.shape) and all(
        there is None or wanted is None or there == wanted
        for there, wanted in zip(found.shape, expected.shape, strict=True)
    )
    if not same:
        raise _refused(
            name,
            path,
            f"has {side} {expected.name!r} of shape {shown_axes(found.shape)}, "
            f"expected {shown_axes(expected.shape)}",
        )


def _refused(name: str, path: Path, reason: str) -> BundleError:
    return BundleError(
        f"graph {name} {reason}: {path} is not of this model, fetch the bundle again",
        path=str(path),
        key=name,
    )
