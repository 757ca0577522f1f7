"""A loaded voice: rows of phoneme ids in, samples out, the same ones each time.

The two small students run in numpy, the decoder in onnxruntime, or in numpy as the reference.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import ConfigError, DeviceError, SynthesisError
from loudr_core.speech.sanotts.configs import HOP, SAMPLE_RATE_HZ
from loudr_core.speech.sanotts.decoder import decode
from loudr_core.speech.sanotts.decoder_graph import GraphDecoder
from loudr_core.speech.sanotts.package import Package
from loudr_core.speech.sanotts.students import durations, latent

__all__ = ["DECODERS", "MOST_PASS_S", "RootA"]

DECODERS: Final = ("onnx", "numpy")
"""Values of the engine's option `decoder`."""
MOST_PASS_S: Final = 90.0
"""Longest audio of one pass: more is a voice gone wrong, and would take gigabytes."""


class RootA:
    """A package's three students, ready to speak.

    Parameters
    ----------
    package : Package
    provider, threads
        Of the decoder's session, as `open_session` takes them.
    decoder : str
        One of `DECODERS`.

    Raises
    ------
    ConfigError
        No decoder has that name.
    BundleError
        onnxruntime does not take the decoder.
    DeviceError
        The provider is not there, or is none of the numpy decoder's.
    """

    def __init__(
        self,
        package: Package,
        *,
        provider: str = "cpu",
        threads: int = 1,
        decoder: str = "onnx",
    ) -> None:
        if decoder not in DECODERS:
            raise ConfigError(f"no decoder {decoder!r}: choose one of {', '.join(DECODERS)}")
        if decoder == "numpy" and provider != "cpu":
            raise DeviceError(
                f"decoder 'numpy' runs on the cpu only, not on {provider!r}", provider=provider
            )
        self._package = package
        self._session = (
            GraphDecoder(
                package.tensors["decoder"],
                package.decoder,
                path=package.folder / package.weights_name,
                provider=provider,
                threads=threads,
            )
            if decoder == "onnx"
            else None
        )

    def durations(self, ids: NDArray[np.int64], *, speed: float = 1.0) -> NDArray[np.int64]:
        """Return the frames of each id, int64, shape (n,).

        An id that the duration student does not know, and the acoustic one does, has the duration
        of the stand-in that the package names for it.
        """
        config = self._package.duration
        if config.unknown_id is not None:
            ids = np.where(ids < config.vocab_size, ids, config.unknown_id)
        scale = self._package.length_scale / speed
        return durations(ids, self._package.tensors["duration"], config, length_scale=scale)

    def render(self, ids: NDArray[np.int64], *, speed: float = 1.0) -> Mono:
        """Speak one pass.

        Parameters
        ----------
        ids : int64, shape (n,)
            Start, pads and end included; below the package's `vocabulary`.
        speed : float
            1.0 is the voice's own pace.

        Returns
        -------
        float32, shape (256 * frames,)
            At 22,050 Hz, with the silence that the voice puts around speech.

        Raises
        ------
        ValueError
            There is no id, or one that the voice does not know.
        SynthesisError
            The voice wants far more time than speech can take.
        """
        frames = self.durations(ids, speed=speed)
        seconds = int(frames.sum()) * HOP / SAMPLE_RATE_HZ
        if seconds > MOST_PASS_S:
            raise SynthesisError(
                f"the voice wants {seconds:.0f} s for {len(ids)} phoneme ids, above the "
                f"{MOST_PASS_S:.0f} s of one pass: make the segment shorter"
            )
        package = self._package
        z = latent(ids, frames, package.tensors["acoustic"], package.acoustic)
        if self._session is not None:
            return self._session.decode(z)
        return decode(z, package.tensors["decoder"], package.decoder)
