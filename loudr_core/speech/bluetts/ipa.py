"""IPA as the model was taught it: one Unicode form, plain marks, a final mark, a space around.

References
----------
BlueTTS specification, section 3, steps 1 to 5 and the traps below them.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from loudr_core.errors import ConfigError, SynthesisError

__all__ = ["FORMS", "PLAIN_MARKS", "Form", "Prepared", "check_form", "prepare"]

Form = Literal["NFD", "NFC", "NFKD"]
FORMS: Final = ("NFD", "NFC", "NFKD")
"""What an IPA text may be normalised to. The compatibility form loses ʲ, ʰ, ʷ and ˤ."""

_TAG: Final = re.compile(r"</?[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})?>")
PLAIN_MARKS: Final[Mapping[str, str]] = {
    "–": "-", "—": "-", "―": "-", "‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"',
    "_": " ", "[": " ", "]": " ", "|": " ", "/": " ",
}  # fmt: skip
"""Marks of a book to those that the voice was taught."""
_MARKS: Final = str.maketrans(dict(PLAIN_MARKS))
_EMOJI: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]")
_BEFORE_MARK: Final = re.compile(r"\s+([,.!?;:])")
_CLOSING: Final = frozenset(".!?;:,'\")]}…。」』】〉》›»")
# What has an id and is wrong all the same: it never shows as unknown.
_STRESS: Final = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_LENGTH: Final = re.compile(r"(?<=[^\W\d_]):(?=[^\W\d_])")
_MOST_PLAIN: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """IPA that is ready to be encoded.

    Parameters
    ----------
    text : str
    repaired : tuple of str
        What was put right, each as `g → ɡ`, without repetition.
    suspect : str
        Capitals and digits that are left in it, which are rarely IPA.
    """

    text: str
    repaired: tuple[str, ...] = ()
    suspect: str = ""


def check_form(form: str) -> Form:
    """Return a Unicode form.

    Raises
    ------
    ConfigError
        It is none of `FORMS`.
    """
    if form not in FORMS:
        raise ConfigError(
            f"option unicode_form = {form!r} is not one of {', '.join(FORMS)}",
            option="unicode_form",
        )
    return cast(Form, form)


def prepare(
    phonemes: str, *, form: Form = "NFD", pad_spaces: bool = True, repair_length: bool = True
) -> Prepared:
    """Return IPA as the text encoder takes it.

    Parameters
    ----------
    phonemes : str
        IPA with plain punctuation; tags such as `<de>` are allowed and go.
    form : str
        One of `FORMS`.
    pad_spaces : bool
        Whether a space stands before and after, as in the reference application.
    repair_length : bool
        Whether a colon between letters is taken for ː. Russian was taught with RUPhon's colons.

    Raises
    ------
    SynthesisError
        There is nothing in it to speak, or it is plain text.
    """
    text = unicodedata.normalize(form, _TAG.sub(" ", phonemes)).translate(_MARKS)
    text = _BEFORE_MARK.sub(r"\1", " ".join(_EMOJI.sub("", text).split()))
    text, repaired = _linted(text, repair_length)
    letters = [symbol for symbol in text if symbol.isalnum()]
    if not letters:
        raise SynthesisError("there is no sound to speak")
    plain = [symbol for symbol in letters if symbol.isdigit() or symbol.isupper()]
    if len(plain) > _MOST_PLAIN * len(letters):
        raise SynthesisError(
            f"this looks like plain text, not IPA: {len(plain)} of {len(letters)} letters are "
            f"capitals or digits ({''.join(dict.fromkeys(plain))[:10]})"
        )
    if text[-1] not in _CLOSING:
        text += "."
    return Prepared(
        text=f" {text} " if pad_spaces else text,
        repaired=repaired,
        suspect="".join(dict.fromkeys(plain)),
    )


def _linted(text: str, repair_length: bool) -> tuple[str, tuple[str, ...]]:
    """Put ASCII look-alikes right where they can mean one thing only, and say which."""
    repaired = []
    if "g" in text:
        text = text.replace("g", "ɡ")
        repaired.append("g → ɡ")
    marks = [(_STRESS, "'", "ˈ"), *([(_LENGTH, ":", "ː")] if repair_length else [])]
    for pattern, wrong, right in marks:
        text, count = pattern.subn(right, text)
        if count:
            repaired.append(f"{wrong} → {right}")
    return text, tuple(repaired)
