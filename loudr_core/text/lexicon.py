"""How names are said: words replaced by respellings after normalisation.

A lexicon is a table of words to respellings. It changes what is spoken and hence is part of a
plan's identity through `digest`.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from loudr_core.canonical import digest
from loudr_core.errors import ConfigError
from loudr_core.toml_text import parse_toml

__all__ = ["Lexicon"]

_CLITIC = re.compile(r"['’]\w")


class Lexicon:
    """Whole words and phrases to respellings.

    An entry in small letters matches in any case; one with a capital matches only as it is written,
    so that "Polish" and "polish" can differ. The longest entry wins. A respelling takes the capital
    of the word it replaces.

    Parameters
    ----------
    entries : mapping of str to str
        Word or phrase to what is said in its place.
    what : str
        What to call an entry in messages.

    Raises
    ------
    ConfigError
        A word or a respelling holds no letter or digit, or is not text.
    """

    def __init__(
        self, entries: Mapping[str, str] | None = None, *, what: str = "lexicon entry"
    ) -> None:
        self._what = what
        self._entries: dict[str, str] = {}
        for word, said in (entries or {}).items():
            self._add(word, said)
        words = sorted(self._entries, key=lambda word: (-len(word), word))
        joined = "|".join(
            rf"(?i:{re.escape(word)})" if word == word.lower() else re.escape(word)
            for word in words
        )
        self._pattern = re.compile(rf"(?<!\w)(?:{joined})(?!\w)") if words else None

    def _add(self, word: object, said: object) -> None:
        if not isinstance(word, str) or not isinstance(said, str):
            raise ConfigError(f"{self._what} {word!r}: what is said must be text, found {said!r}")
        clean, spoken = " ".join(word.split()), " ".join(said.split())
        if not any(map(str.isalnum, clean)) or not any(map(str.isalnum, spoken)):
            raise ConfigError(
                f"{self._what} {word!r} = {said!r}: both sides need a letter or digit; remove it"
            )
        self._entries[clean] = spoken

    @classmethod
    def read(cls, path: Path) -> "Lexicon":
        """Read a lexicon from the `[words]` table of a TOML file, or from its top level.

        Raises
        ------
        ConfigError
            The file is missing, is not TOML, or an entry is not usable.
        """
        try:
            data = parse_toml(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ConfigError(f"lexicon {path} is not there", path=str(path)) from error
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"lexicon {path} cannot be read: {error}", path=str(path)) from error
        table = data.get("words", data)
        if not isinstance(table, dict):
            raise ConfigError(f"lexicon {path}: words must be a table", path=str(path))
        return cls(table)

    def __len__(self) -> int:
        return len(self._entries)

    def apply(self, spoken: str) -> str:
        """Return normalised text with the lexicon's words respelt."""
        return self._pattern.sub(self._respell, spoken) if self._pattern else spoken

    def pieces(self, spoken: str) -> list[tuple[str, str]]:
        """Return normalised text cut at the lexicon's words.

        A word with an apostrophe and letters behind it is another one: "Ines's" is not "Ines".

        Returns
        -------
        list of (str, str)
            A stretch of text without such a word, and what is said for the word after it, as the
            lexicon has it; empty after the last stretch. One stretch when no word is in the text.
        """
        every = self._pattern.finditer(spoken) if self._pattern else ()
        found = [match for match in every if not _CLITIC.match(spoken, match.end())]
        starts = [0, *(match.end() for match in found)]
        ends = [*(match.start() for match in found), len(spoken)]
        said = [*(self._said(match[0]) for match in found), ""]
        return [
            (spoken[start:end], each) for start, end, each in zip(starts, ends, said, strict=True)
        ]

    def _said(self, found: str) -> str:
        return self._entries.get(found) or self._entries[found.lower()]

    def _respell(self, match: re.Match[str]) -> str:
        found = match[0]
        said = self._said(found)
        return said[0].upper() + said[1:] if found[0].isupper() else said

    def digest(self) -> str:
        """Return a digest of the entries, whatever their order."""
        return digest(["lexicon-1", self._entries])
