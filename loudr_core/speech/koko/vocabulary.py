"""Characters to ids: the reader of `tokenizer.json`.

Nobody outside has seen the released file, so each layout that such files have is read, and whatever
fits none of them is refused. Normalisers and pre-tokenisers in the file are left alone: the recipe
is one id a character, and a normaliser could lower the case unasked (Koko specification, section
2).
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.files import read_whole
from loudr_core.speech.json_values import parse_object, shown

__all__ = ["Vocabulary", "read_vocabulary", "vocabulary_from"]

_MOST_BYTES = 16 << 20
_UNKNOWN = "<unk>"
_DEFAULT_UNKNOWN_ID = 1
_NEEDED = " " + string.ascii_lowercase
"""Without these no English is spoken: the file is a vocabulary of something else."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """What the text encoder knows.

    Parameters
    ----------
    ids : mapping of str to int
        Single characters to ids from 0.
    unknown_id : int
        Of what is not in `ids`; the engine never sends it unless a text is encoded unread.
    """

    ids: Mapping[str, int]
    unknown_id: int

    def __contains__(self, symbol: str) -> bool:
        return symbol in self.ids

    @property
    def largest_id(self) -> int:
        """The largest id that can reach the text encoder."""
        return max(self.unknown_id, *self.ids.values())

    def encode(self, text: str) -> NDArray[np.int64]:
        """Return one id a character, no marks of begin or end, nothing between.

        Parameters
        ----------
        text : str

        Returns
        -------
        int64, shape (len(text),)
        """
        return np.array([self.ids.get(symbol, self.unknown_id) for symbol in text], np.int64)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a `tokenizer.json`.

    Raises
    ------
    BundleError
        It is missing, no JSON, of no known layout, or has no English letters.
    """
    text = read_whole(path, most_bytes=_MOST_BYTES, advice="fetch the bundle again")
    return vocabulary_from(parse_object(text, what="tokenizer", path=path), path=path)


def vocabulary_from(document: Mapping[str, object], *, path: Path) -> Vocabulary:
    """Return the vocabulary of a parsed `tokenizer.json`; raises as `read_vocabulary` does.

    Parameters
    ----------
    document : mapping
    path : Path
        For errors.
    """
    symbols = _symbols(document, path)
    symbols |= _added(document.get("added_tokens"), path)
    for symbol, number in symbols.items():
        if number < 0:  # a Gather would take it from the table's end
            raise _fault(path, "vocab", f"gives {shown(symbol)} the id {number}, below 0")
    single = {symbol: number for symbol, number in symbols.items() if len(symbol) == 1}
    if missing := [symbol for symbol in _NEEDED if symbol not in single]:
        raise _fault(
            path,
            "vocab",
            f"has no entry for {' '.join(map(repr, missing[:5]))}: a Koko tokenizer has one a "
            "character",
        )
    return Vocabulary(ids=single, unknown_id=_unknown_id(document, symbols))


def _symbols(document: Mapping[str, object], path: Path) -> dict[str, int]:
    """Return the table of symbols of whichever layout it is."""
    model = document.get("model")
    if isinstance(model, Mapping):
        vocab = model.get("vocab")
        if isinstance(vocab, Mapping):
            return _checked(vocab, path, "model.vocab")
        if isinstance(vocab, list):
            return _scored(vocab, path)
    for key in ("vocab", "char_to_id"):
        table = document.get(key)
        if isinstance(table, Mapping):
            return _checked(table, path, key)
    flat = {key: value for key, value in document.items() if key != "added_tokens"}
    if flat and all(_is_id(value) for value in flat.values()):
        return _checked(flat, path, "")
    raise _fault(
        path,
        "vocab",
        "is in none of the layouts model.vocab, vocab, char_to_id or {symbol: id}; "
        f"top keys are {', '.join(map(shown, list(document)[:5])) or 'none'}",
    )


def _checked(table: Mapping[str, object], path: Path, at: str) -> dict[str, int]:
    checked: dict[str, int] = {}
    for symbol, number in table.items():
        if not isinstance(number, int) or isinstance(number, bool):
            key = f"{at}[{shown(symbol)}]"
            raise _fault(path, key, f"must be a whole number, found {shown(number)}")
        checked[symbol] = number
    return checked


def _scored(entries: list[object], path: Path) -> dict[str, int]:
    """Return the symbols of a list of [symbol, score], whose ids are their places."""
    symbols: dict[str, int] = {}
    for place, entry in enumerate(entries):
        match entry:
            case [str(symbol), *_]:
                symbols.setdefault(symbol, place)
            case _:
                key = f"model.vocab[{place}]"
                raise _fault(path, key, f"must be [symbol, score], found {shown(entry)}")
    return symbols


def _added(tokens: object, path: Path) -> dict[str, int]:
    """Return the symbols of `added_tokens`."""
    if tokens is None:
        return {}
    if not isinstance(tokens, list):
        raise _fault(path, "added_tokens", f"must be a list, found {shown(tokens)}")
    added: dict[str, int] = {}
    for place, token in enumerate(tokens):
        match token:
            case {"content": str(content), "id": int(number)} if not isinstance(number, bool):
                added[content] = number
            case _:
                key = f"added_tokens[{place}]"
                raise _fault(path, key, f"must have content and id, found {shown(token)}")
    return added


def _unknown_id(document: Mapping[str, object], symbols: Mapping[str, int]) -> int:
    model = document.get("model")
    named = model.get("unk_token") if isinstance(model, Mapping) else None
    for symbol in (named, _UNKNOWN):
        if isinstance(symbol, str) and symbol in symbols:
            return symbols[symbol]
    return _DEFAULT_UNKNOWN_ID


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fault(path: Path, key: str, problem: str) -> BundleError:
    return BundleError(
        f"{path}: tokenizer key {key!r} {problem}: fetch the bundle again", path=str(path), key=key
    )
