"""Names of the speakers: `koko:000` to `koko:127` in the release."""

import re

from loudr_core.canonical import digest
from loudr_core.errors import SynthesisError
from loudr_core.speech.protocol import VoiceInfo

__all__ = ["speaker_of", "voice_infos", "voice_name"]

_NAME = re.compile(r"koko:(-?\d{1,9})")


def voice_name(speaker: int) -> str:
    """Return the name of a speaker, counted from 0."""
    return f"koko:{speaker:03d}"


def voice_infos(speakers: int, encoder_sha256: str) -> tuple[VoiceInfo, ...]:
    """Return what is known of every speaker.

    Parameters
    ----------
    speakers : int
        How many there are.
    encoder_sha256 : str
        Of the graph that holds their embeddings; part of each voice's own digest.
    """
    return tuple(
        VoiceInfo(
            name=voice_name(speaker),
            language="en-US",
            sha256=digest(["koko-voice-1", encoder_sha256, speaker]),
            description=f"speaker {speaker} of LibriTTS-R",
            licence="Apache-2.0; LibriTTS-R: CC BY 4.0",
        )
        for speaker in range(speakers)
    )


def speaker_of(voice: str, speakers: int) -> int:
    """Return the speaker of a voice's name.

    Parameters
    ----------
    voice : str
    speakers : int
        How many there are.

    Raises
    ------
    SynthesisError
        The name is not that of a speaker, or the bundle has fewer.
    """
    match = _NAME.fullmatch(voice)
    if match is None:
        raise SynthesisError(
            f"no voice {voice!r}: Koko has {voice_name(0)} to {voice_name(speakers - 1)}"
        )
    speaker = int(match[1])
    if not 0 <= speaker < speakers:
        raise SynthesisError(
            f"speaker {speaker} of voice {voice!r} is outside 0 to {speakers - 1} of this bundle"
        )
    return speaker
