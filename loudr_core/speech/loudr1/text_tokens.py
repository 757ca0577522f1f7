"""Prepared text to text tokens, by the bundle's own tokenizer; the only importer of `tokenizers`.

What is done to the text before the tokenizer sees it is part of the algorithm (loudr-1
specification, section 6): small letters, NFKD, brackets away, the language's tag in front, spaces
spelled out.
"""

import unicodedata

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from loudr_core.errors import BundleError, SynthesisError

__all__ = ["LANGUAGES", "TextTokenizer"]

LANGUAGES = ("da", "de", "en", "es", "fi", "fr", "it", "nl", "no", "pl", "pt", "sv")
"""What the models of this family were made to speak."""

_SPACE = "[SPACE]"
_NEEDED = ("[START]", "[STOP]", _SPACE)
_NO_BRACKETS = str.maketrans("[]", "  ")
_KEY = "tokenizer.json"


class TextTokenizer:
    """A bundle's tokenizer.

    Parameters
    ----------
    tokenizer_json : bytes
        The file of the bundle.
    n_embeddings : int, optional
        Rows of the text table, which every id of the vocabulary must lie below.

    Raises
    ------
    BundleError
        The file cannot be read, lacks a token that the model needs, cuts or pads texts, or has ids
        without an embedding.
    """

    def __init__(self, tokenizer_json: bytes, *, n_embeddings: int | None = None) -> None:
        self._tokenizer = _parse(tokenizer_json)
        self._vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        for token in _NEEDED:
            self._require(token, f"the tokenizer has no token {token}")
        if self._tokenizer.truncation is not None or self._tokenizer.padding is not None:
            # It would leave words out, or lengthen every text, without a word.
            raise BundleError(
                "the tokenizer cuts or pads its texts, which no bundle of this model asks for: "
                "fetch the bundle again",
                key=_KEY,
            )
        greatest = max(self._vocabulary.values())
        if n_embeddings is not None and greatest >= n_embeddings:
            raise BundleError(
                f"the tokenizer gives ids up to {greatest}, the model has {n_embeddings} text "
                "embeddings: they are of two bundles; fetch the bundle again",
                key=_KEY,
                found=greatest,
                expected=n_embeddings,
            )

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        """Return the text tokens of a chunk.

        Parameters
        ----------
        text : str
            As the text funnel left it.
        language : str
            One of `LANGUAGES`, in capitals or not; no region.

        Returns
        -------
        int64 [n]
            The tag of the language first; without the marks that frame them.

        Raises
        ------
        SynthesisError
            No such language, or the text holds half a surrogate pair.
        BundleError
            The tokenizer lacks the language's tag.
        """
        return np.array(self._encoding(text, language).ids, dtype=np.int64)

    def unread(self, text: str, language: str) -> tuple[str, ...]:
        """Return the characters of a text that the tokenizer has no token for, sorted.

        The model hears one and the same token for each of them, whatever it is. Letters are the
        small ones, taken apart from their accents. Raises what `encode` raises.
        """
        encoding = self._encoding(text, language)
        tagged = _tagged(text, language.lower())
        unknown = self._vocabulary.get("[UNK]")
        found = {
            tagged[start:end]
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if token == unknown
        }
        return tuple(sorted(found))

    def _encoding(self, text: str, language: str) -> Encoding:
        spoken = language.lower()
        if spoken not in LANGUAGES:
            raise SynthesisError(
                f"the voice speaks no {language!r}: it speaks {', '.join(LANGUAGES)}",
                language=language,
                expected=list(LANGUAGES),
            )
        self._require(f"[{spoken}]", f"the tokenizer has no tag for language {spoken!r}")
        try:
            return self._tokenizer.encode(_tagged(text, spoken))
        except (TypeError, UnicodeError) as error:
            raise SynthesisError(
                "the text holds half a surrogate pair, which is no character"
            ) from error
        except BaseException as error:
            reason = _reason(error)
            raise SynthesisError(f"the tokenizer refused the text: {reason}") from error

    def _require(self, token: str, what: str) -> None:
        if token not in self._vocabulary:
            raise BundleError(
                f"{what}: it is of another model; fetch the bundle again", key=_KEY, expected=token
            )


def _tagged(text: str, language: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower()).translate(_NO_BRACKETS)
    return f"[{language}]{plain}".replace(" ", _SPACE)


def _parse(tokenizer_json: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_str(tokenizer_json.decode("utf-8"))
    except BaseException as error:
        reason = _reason(error)
        raise BundleError(
            f"tokenizer.json cannot be read: {reason}; fetch the bundle again", key=_KEY
        ) from error


def _reason(error: BaseException) -> str:
    """Return what the library says in one line; raise again what is not about its input.

    It has no class of its own for a bad file or text, and what it did not foresee comes as a
    panic of its Rust side, which is no `Exception`.
    """
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return " ".join(str(error).split())[:200]
