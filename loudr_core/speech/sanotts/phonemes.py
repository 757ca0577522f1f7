"""Phonemes to the ids of a voice (sanoTTS specification, sections 1 and 2).

A row of ids is start, pad, then each phoneme and a pad, then end. What the voice has no id for, or
an id that its students were never taught, is left out with its pad and counted.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.files import is_file, read_whole
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.speech.json_values import Section, parse_object, shown
from loudr_core.speech.sanotts.configs import needed

__all__ = [
    "END",
    "PAD",
    "START",
    "IdRow",
    "PhonemeConfig",
    "encode",
    "given_ids",
    "read_phoneme_config",
    "taken_phonemes",
]

PAD, START, END = 0, 1, 2
_RESERVED: Final = {"_": PAD, "^": START, "$": END}
_MOST_ID: Final = 1 << 20
_ESPEAK_VOICE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9/+_-]{0,60}")
_MOST_UNKNOWN: Final = 0.1
"""Share of a sentence's sounds without an id above which phonemiser and voice do not match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhonemeConfig:
    """What a voice says of its phonemes.

    Parameters
    ----------
    kind : str
        `espeak`, `text` where the letters themselves are the phonemes, or another that loudr has no
        phonemiser for.
    espeak_voice : str
        The voice that espeak-ng reads with, such as `de`; empty where there is none.
    ids : mapping of str to int
        Phoneme, one or more code points, to its id.
    sha256 : str
        Of the file.
    """

    kind: str
    espeak_voice: str
    ids: Mapping[str, int]
    sha256: str = ""

    @property
    def longest(self) -> int:
        """Code points of the longest phoneme."""
        return max(map(len, self.ids))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdRow:
    """One sentence as the students read it.

    Parameters
    ----------
    ids : int64, shape (n,)
    unmapped : tuple of str
        Phonemes without an id, in their order.
    untaught : tuple of str
        Phonemes with an id beyond what the students know, in their order.
    """

    ids: NDArray[np.int64]
    unmapped: tuple[str, ...] = ()
    untaught: tuple[str, ...] = ()


def read_phoneme_config(path: Path) -> PhonemeConfig:
    """Read the phoneme configuration of a package, a part of a Piper voice's own.

    Raises
    ------
    BundleError
        The file is missing or not JSON, or a key is missing or wrong.
    """
    advice = "copy the package again"
    if not is_file(path):
        raise BundleError(f"{path} is not there, or no file: {advice}", path=str(path))
    text = read_whole(path, most_bytes=4 << 20, advice=advice)
    what = "phoneme config"
    config = Section(parse_object(text, what=what, path=path), path=path, what=what)
    kind = config.text("phoneme_type", "espeak")
    espeak_voice = config.section("espeak").text("voice", "")
    if kind == "espeak" and not espeak_voice:
        raise config.fault("espeak.voice", "is missing")
    if espeak_voice and not _ESPEAK_VOICE.fullmatch(espeak_voice):
        raise config.fault("espeak.voice", f"is no name of a voice: {shown(espeak_voice)}")
    needed(config, "phoneme_id_map")
    ids = _id_map(config.section("phoneme_id_map"), config.get("phoneme_id_map"))
    for symbol, wanted in _RESERVED.items():
        if ids.get(symbol) != wanted:
            raise config.fault(
                f"phoneme_id_map.{symbol}", f"must be [{wanted}], found {shown(ids.get(symbol))}"
            )
    return PhonemeConfig(
        kind=kind, espeak_voice=espeak_voice, ids=ids, sha256=hashlib.sha256(text).hexdigest()
    )


def _id_map(section: Section, values: object) -> dict[str, int]:
    ids: dict[str, int] = {}
    for symbol in values if isinstance(values, Mapping) else {}:
        found = section.wholes(symbol)
        if len(found) != 1 or not 0 <= found[0] <= _MOST_ID:
            raise section.fault(symbol, f"must be a list of one id, found {list(found)}")
        if not symbol:
            raise section.fault(symbol, "stands for no phoneme")
        # A composed letter is never met, for phonemes come decomposed, as they did in training.
        ids[symbol if len(symbol) == 1 else unicodedata.normalize("NFD", symbol)] = found[0]
    return ids


def encode(phonemes: str, config: PhonemeConfig, *, vocabulary: int) -> IdRow:
    """Return the ids of a sentence.

    Parameters
    ----------
    phonemes : str
        Decomposed here (NFD). Where several phonemes of the voice fit, the longest is taken.
    config : PhonemeConfig
    vocabulary : int
        Ids from here on are unknown to the students.

    Raises
    ------
    SynthesisError
        No sound is left, or more than a tenth of the sounds have no id.
    """
    ids: list[int] = [START, PAD]
    unmapped: list[str] = []
    untaught: list[str] = []
    sounds = 0
    for symbol in _symbols(unicodedata.normalize("NFD", phonemes), config):
        found = config.ids.get(symbol)
        sounds += _is_sound(symbol)
        if found is None:
            unmapped.append(symbol)
        elif found >= vocabulary:
            untaught.append(symbol)
        else:
            ids += [found, PAD]
    lost = [symbol for symbol in (*unmapped, *untaught) if _is_sound(symbol)]
    if sounds == len(lost):
        raise SynthesisError(f"no sound of it is one of the voice's: {shown(phonemes)}")
    if len(lost) > _MOST_UNKNOWN * sounds:
        raise SynthesisError(
            f"voice and phonemiser do not match: the voice has no sound for {len(lost)} of "
            f"{sounds} phonemes ({' '.join(sorted(set(lost))[:10])})"
        )
    return IdRow(
        ids=np.array([*ids, END], np.int64), unmapped=tuple(unmapped), untaught=tuple(untaught)
    )


def given_ids(text: str, *, vocabulary: int) -> IdRow:
    """Return a row of ids that was written down, start, pads and end included.

    Parameters
    ----------
    text : str
        Numbers between white space or commas.
    vocabulary : int
        As `encode` takes it.

    Raises
    ------
    SynthesisError
        Something is no id of the voice, or there is no sound among them.
    """
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) < vocabulary):
            raise SynthesisError(
                f"{shown(word)} is no phoneme id of the voice: 0 to {vocabulary - 1}"
            )
    ids = np.array([int(word) for word in words], np.int64)
    if not np.isin(ids, list(_RESERVED.values()), invert=True).any():
        raise SynthesisError("the given phoneme ids hold no sound")
    return IdRow(ids=ids)


def taken_phonemes(config: PhonemeConfig, *, vocabulary: int) -> GivenPhonemes:
    """Return what phonemes of a request may hold; `vocabulary` is as `encode` takes it."""
    known = (symbol for symbol, number in config.ids.items() if number < vocabulary)
    return GivenPhonemes(
        symbols=frozenset(unicodedata.normalize("NFD", symbol) for symbol in known),
        most_unknown=_MOST_UNKNOWN,
        ids=vocabulary,
    )


def _symbols(phonemes: str, config: PhonemeConfig) -> Sequence[str]:
    longest = config.longest
    if longest == 1:
        return phonemes
    found: list[str] = []
    place = 0
    while place < len(phonemes):
        size = next(
            (n for n in range(longest, 1, -1) if phonemes[place : place + n] in config.ids), 1
        )
        found.append(phonemes[place : place + size])
        place += size
    return found


def _is_sound(symbol: str) -> bool:
    """Say whether a symbol is more than punctuation or space."""
    return not all(unicodedata.category(each)[0] in "PZC" for each in symbol)
