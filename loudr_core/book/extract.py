"""The audit's own extraction: raw bytes of a document to its characters without white space.

Shares no code with `walk` and `parse`, and reads with expat and the standard library's HTML parser
instead of libxml2, so that a fault in the walk shows as a difference. What counts as text is the
rule of `walk`: text nodes and alternative texts of the body, outside script, style and template.
"""

import functools
import html
import html.entities
import html.parser
import re
from xml.parsers import expat

from loudr_core.book.model import Document
from loudr_core.book.tokens import markdown_as_markup

__all__ = ["extract_characters"]

_SKIPPED = ("script", "style", "template", "noframes", "head")
_OF_HEAD = frozenset(
    {"head", "title", "meta", "link", "base", "style", "script", "noscript", "template"}
)
_LIGATURE = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_DROPPED = re.compile(
    "[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
    "\x00-\x08\x0e-\x1b\x7f\x81\x8d\x8f\x90\x9d]"
)
_OLD_CODE = re.compile("[\x80-\x9f]")


def extract_characters(document: Document) -> str:
    """Return the text of a document, white space and deleted characters removed.

    Parameters
    ----------
    document : Document
        Only `raw` and `media_type` are read.

    Returns
    -------
    str
        Equal to `document.text` with its white space removed, when the walk lost nothing.
    """
    if document.media_type == "text/plain":
        return _bare(_as_text(document.raw))
    if document.media_type == "text/markdown":
        return _bare(_by_html(markdown_as_markup(_as_text(document.raw))))
    try:
        return _bare(_by_expat(document.raw))
    except (expat.ExpatError, LookupError, ValueError):
        return _bare(_by_html(_as_text(document.raw)))


def _bare(text: str) -> str:
    text = _OLD_CODE.sub(lambda m: m.group().encode("latin-1").decode("cp1252", "ignore"), text)
    for ligature, letters in _LIGATURE.items():
        text = text.replace(ligature, letters)
    return "".join(_DROPPED.sub("", text).split())


class _Collector:
    """What both parsers feed: starts, ends and text; keeps what is not in the head."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.skipping = 0
        self.drawings = 0
        """Open `svg` elements; a `title` in one is shown, others are not."""

    def start(self, name: str, attributes: dict[str, str | None]) -> None:
        if self.skipping or name in _SKIPPED or (name == "title" and not self.drawings):
            self.skipping += 1
        elif name == "svg":
            self.drawings += 1
        elif name == "img":
            self.parts.append(attributes.get("alt") or "")
        elif name == "math":
            self.parts.append(attributes.get("alttext") or "")

    def end(self, name: str) -> None:
        if self.skipping:
            self.skipping -= 1
        elif name == "svg" and self.drawings:
            self.drawings -= 1

    def text(self, data: str) -> None:
        if not self.skipping:
            self.parts.append(data)


def _by_expat(raw: bytes) -> str:
    collector = _Collector()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        collector.start(_local(name), dict(attributes))

    def outside(context: str | None, base: object, system: object, public: object) -> int:
        """Answer the reference to a DTD with HTML's names; to any other outside file nothing."""
        child = parser.ExternalEntityParserCreate(context)
        child.Parse(b"" if context else _html_names(), True)
        return 1

    def other(data: str) -> None:
        if len(data) > 2 and data[0] == "&" and data[-1] == ";" and data[1] != "#":
            collector.text(data)  # a name that nothing declares

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: collector.end(_local(name))
    parser.CharacterDataHandler = collector.text
    parser.DefaultHandlerExpand = other
    parser.CommentHandler = lambda _: None  # not for `other`
    parser.ProcessingInstructionHandler = lambda _, __: None
    parser.ExternalEntityRefHandler = outside
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
    parser.UseForeignDTD(True)
    parser.Parse(raw.lstrip(b" \t\r\n"), True)
    return "".join(collector.parts)


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


@functools.cache
def _html_names() -> bytes:
    lines = [
        '<!ENTITY {} "{}">'.format(name[:-1], "".join(f"&#{ord(c)};" for c in value))
        for name, value in html.entities.html5.items()
        if name.endswith(";")
        and name[:-1] not in {"amp", "lt", "gt", "quot", "apos"}
        and not set(value) & set('&<%"\n\t')
    ]
    special = '<!ENTITY AMP "&#38;#38;"><!ENTITY LT "&#38;#60;"><!ENTITY QUOT "&#34;">'
    return ("\n".join(lines) + special).encode("ascii")


class _HtmlText(html.parser.HTMLParser):
    """Feeds a collector only the tags that it counts, since others may lack their end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.collector = _Collector()
        self.in_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag = _local(tag)
        if self.in_head and tag not in _OF_HEAD:
            self.collector.skipping = 0  # the head was left open
        self.in_head = tag == "head" or (self.in_head and tag in _OF_HEAD)
        if not self.collector.skipping or tag in _SKIPPED or tag == "title":
            self.collector.start(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        tag = _local(tag)
        if tag in _SKIPPED or tag == "svg" or (tag == "title" and not self.collector.drawings):
            self.collector.end(tag)
        self.in_head = self.in_head and tag != "head"

    def handle_data(self, data: str) -> None:
        self.collector.text(data)


def _by_html(text: str) -> str:
    parser = _HtmlText()
    parser.feed(re.sub(r"<!\[CDATA\[(.*?)\]\]>", lambda m: html.escape(m[1]), text, flags=re.S))
    parser.close()
    return "".join(parser.collector.parts)


def _as_text(raw: bytes) -> str:
    """Decode as XML and HTML say: by mark, by declaration, as UTF-8, else as Windows-1252."""
    if raw[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        names = ["utf-16"]
    elif raw[:4] == b"<\0?\0":
        names = ["utf-16-le"]
    elif raw[:4] == b"\0<\0?":
        names = ["utf-16-be"]
    elif raw[:65536].count(0) * 5 > len(raw[:65536]):
        low = raw[1:65536:2].count(0) > raw[:65536:2].count(0)
        names = ["utf-16-le" if low else "utf-16-be"]
    else:
        head = raw[:2048].decode("latin-1")
        told = re.search(r"""^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)""", head) or re.search(
            r"""(?i)<meta[^>]+charset\s*=\s*["']?([\w.:-]+)""", head
        )
        names = ["utf-8-sig"]
        if told and not raw.startswith(b"\xef\xbb\xbf") and "16" not in told[1]:
            names.insert(0, told[1])
    for name in names:
        try:
            return raw.decode(name)
        except (LookupError, UnicodeError):
            continue
    return raw.decode("cp1252", "replace")
