"""What an M4B says about itself: the iTunes atoms that players and library servers read.

The only importer of mutagen that writes. Every atom has its reader: Apple's players and Plex take
the narrator from `©wrt`, Audiobookshelf and others that look through ffprobe see series only in
freeform atoms, since ffprobe hides `©mvn`. All values come from the caller, so that the same book
gives the same bytes; there is no clock here.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutagen
from mutagen.mp4 import MP4, AtomDataType, MP4Cover, MP4FreeForm

from loudr_core.errors import PublishError
from loudr_core.publish.cover import Cover
from loudr_core.publish.naming import SOMEBODY, Owner

__all__ = ["FREEFORM", "Tags", "gaps_told", "language_code", "read_owner", "write_tags"]

FREEFORM = "----:com.apple.iTunes:"
"""Prefix of the atoms that carry their own name."""

_AUDIOBOOK = 2  # `stik`, the kind of media
_SHORT = 255
_OWNER = {"book_id": "LOUDR-BOOK", "plan_id": "LOUDR-PLAN", "chapters": "LOUDR-CHAPTERS"}
_GAPS = re.compile(r"passages? (?:is|are) missing from the audio: (.*)\.$", re.DOTALL)

# ISO 639-1 to 639-2/T, the form that a track's language takes (ISO/IEC 14496-12, 8.4.2).
_THREE_LETTERS = {
    "af": "afr", "ar": "ara", "bg": "bul", "bn": "ben", "ca": "cat", "cs": "ces", "cy": "cym",
    "da": "dan", "de": "deu", "el": "ell", "en": "eng", "eo": "epo", "es": "spa", "et": "est",
    "eu": "eus", "fa": "fas", "fi": "fin", "fr": "fra", "ga": "gle", "gl": "glg", "gu": "guj",
    "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "hy": "hye", "id": "ind", "is": "isl",
    "it": "ita", "ja": "jpn", "ka": "kat", "kk": "kaz", "kn": "kan", "ko": "kor", "la": "lat",
    "lt": "lit", "lv": "lav", "mk": "mkd", "ml": "mal", "mr": "mar", "ms": "msa", "mt": "mlt",
    "nb": "nob", "ne": "nep", "nl": "nld", "nn": "nno", "no": "nor", "pa": "pan", "pl": "pol",
    "pt": "por", "ro": "ron", "ru": "rus", "sk": "slk", "sl": "slv", "sq": "sqi", "sr": "srp",
    "sv": "swe", "sw": "swa", "ta": "tam", "te": "tel", "th": "tha", "tl": "tgl", "tr": "tur",
    "uk": "ukr", "ur": "urd", "uz": "uzb", "vi": "vie", "yi": "yid", "zh": "zho", "zu": "zul",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """What is said about a book; an empty field writes no atom.

    Parameters
    ----------
    title : str
    authors : tuple of str
    narrator : str
        What players show as the reader: the voice's name.
    language : str
        A BCP 47 tag, as the book has it.
    date : str
        When the book came out: a year or an ISO date, as the book has it.
    short_description, description : str
        For a list, and in full. Without the short one the start of the long one serves.
    series, series_part : str
        The part is a number in most books, and `1.5` or `2-3` in some.
    voices : tuple of (str, str)
        Who spoke, each with what: `heart`, `embedded`.
    producer : str
        Made by which program: `loudr 0.1.0`.
    gaps : tuple of str
        One line for each passage that is missing from the audio.
    owner : Owner, optional
        Whose the file is: `read_owner` finds it again.
    """

    title: str
    authors: tuple[str, ...] = ()
    narrator: str = ""
    language: str = ""
    date: str = ""
    subtitle: str = ""
    short_description: str = ""
    description: str = ""
    rights: str = ""
    publisher: str = ""
    series: str = ""
    series_part: str = ""
    isbn: str = ""
    asin: str = ""
    genre: str = "Audiobook"
    voices: tuple[tuple[str, str], ...] = ()
    producer: str = "loudr"
    gaps: tuple[str, ...] = ()
    owner: Owner | None = None

    def comment(self) -> str:
        """Return the comment: that the voice is synthetic, whose it is, and what is missing."""
        told = [f"{voice} ({engine})" if engine else voice for voice, engine in self.voices]
        what = "synthetic voices" if len(told) > 1 else "a synthetic voice"
        who = f": {', '.join(told)}" if told else ""
        text = f"Narrated by {what}{who}. Made with {self.producer}."
        if self.gaps:
            count = len(self.gaps)
            what = "1 passage is" if count == 1 else f"{count} passages are"
            text += f" {what} missing from the audio: " + "; ".join(self.gaps) + "."
        return text


def gaps_told(comment: str) -> tuple[str, ...]:
    """Return the passages that `Tags.comment` says are missing."""
    found = _GAPS.search(comment)
    return tuple(found[1].split("; ")) if found else ()


def read_owner(path: Path) -> Owner | None:
    """Return whose a file is: None when there is none, `SOMEBODY` when it does not say."""
    if not path.exists():
        return None
    try:
        tags: Any = MP4(path).tags or {}
    except (mutagen.MutagenError, OSError):
        return SOMEBODY
    said = {field: tags.get(FREEFORM + name) for field, name in _OWNER.items()}
    return Owner(
        **{field: bytes(value[0]).decode("utf-8", "replace") if value else ""
           for field, value in said.items()}
    )  # fmt: skip


def language_code(tag: str) -> str:
    """Return the three letters of a BCP 47 tag's language; `und` where there is none we know."""
    primary = tag.replace("_", "-").split("-")[0].lower()
    if len(primary) == 3 and primary.isascii() and primary.isalpha():
        return primary
    return _THREE_LETTERS.get(primary, "und")


def write_tags(path: Path, tags: Tags, cover: Cover | None) -> None:
    """Write all atoms into an MP4 file, in place of those it has.

    Raises
    ------
    PublishError
        The file is no MP4 or cannot be written.
    """
    try:
        file: Any = MP4(path)
        if file.tags is None:
            file.add_tags()
        file.tags.clear()
        for name, value in _atoms(tags).items():
            file.tags[name] = value
        if cover:
            kinds = {"image/jpeg": MP4Cover.FORMAT_JPEG, "image/png": MP4Cover.FORMAT_PNG}
            file.tags["covr"] = [MP4Cover(cover.data, kinds[cover.media_type])]
        file.save()
    except (mutagen.MutagenError, OSError) as error:
        raise PublishError(
            f"tags cannot be written into {path}: {error}", path=str(path)
        ) from error


def _atoms(tags: Tags) -> dict[str, object]:
    """Return mutagen's form of every atom that has something to say."""
    author = ", ".join(tags.authors)
    text = {
        "\xa9nam": tags.title,
        "\xa9alb": tags.title,
        "\xa9ART": author,
        "aART": author,
        "\xa9wrt": tags.narrator,
        "\xa9nrt": tags.narrator,
        "\xa9gen": tags.genre,
        "\xa9day": tags.date,
        "desc": _short(tags.short_description or tags.description),
        "ldes": tags.description or tags.short_description,
        "cprt": tags.rights,
        "\xa9pub": tags.publisher,
        "\xa9cmt": tags.comment(),
        "\xa9too": tags.producer,
    }
    freeform = {
        "SERIES": tags.series,
        "SERIES-PART": tags.series_part,
        "ISBN": tags.isbn,
        "ASIN": tags.asin,
        "SUBTITLE": tags.subtitle,
        "PUBLISHER": tags.publisher,
        "LANGUAGE": tags.language,
    }
    if tags.owner is not None:
        freeform |= {name: getattr(tags.owner, field) for field, name in _OWNER.items()}
    atoms: dict[str, object] = {name: [_clean(value)] for name, value in text.items() if value}
    atoms |= {
        FREEFORM + name: [MP4FreeForm(_clean(value).encode(), AtomDataType.UTF8)]
        for name, value in freeform.items()
        if value
    }
    return atoms | {"stik": [_AUDIOBOOK], "pgap": True} | _series_atoms(tags)


def _series_atoms(tags: Tags) -> dict[str, object]:
    if not tags.series:
        return {}
    part = tags.series_part
    atoms: dict[str, object] = {
        "\xa9mvn": [_clean(tags.series)],
        "\xa9grp": [_clean(f"{tags.series} #{part}" if part else tags.series)],
        "shwm": [1],
        # Players sort a series by its albums; the part is padded so that 10 comes after 9.
        "soal": [_clean(f"{tags.series} {_padded(part)} - {tags.title}".replace("  ", " "))],
    }
    if part.isascii() and part.isdigit() and int(part) < 2**15:
        atoms["\xa9mvi"] = [int(part)]
    return atoms


def _padded(part: str) -> str:
    whole, dot, rest = part.partition(".")
    return f"{whole.zfill(3)}{dot}{rest}" if whole.isdigit() else part


def _short(text: str) -> str:
    """Return a text for `desc`: at most 255 characters, ended at a word with an ellipsis."""
    if len(text) <= _SHORT:
        return text
    return text[: _SHORT - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


def _clean(text: str) -> str:
    """Drop what a text atom cannot hold: NUL, which ends it early, and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()
