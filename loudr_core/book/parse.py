"""Bytes to element trees: the one importer of lxml.

No parser here loads anything from outside, and entity expansion stays within libxml2's
amplification limit. XHTML is parsed as XML first; what is not well-formed is read by the HTML
parser, with a finding.
"""

import html.entities
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from lxml import etree

from loudr_core.errors import BookError
from loudr_core.findings import Finding

__all__ = [
    "C1",
    "Element",
    "attribute",
    "children",
    "decode",
    "first",
    "iter_named",
    "local_name",
    "parse_document",
    "parse_html",
    "parse_package",
    "prefixed",
    "text_content",
]

Element: TypeAlias = Any
"""An lxml element; lxml ships no types."""

C1: Final[dict[int, str | None]] = {
    code: bytes([code]).decode("cp1252", errors="ignore") or None for code in range(0x80, 0xA0)
}
"""Control codes that no book means, to the Windows-1252 characters at their places."""

_NO_TEXT: Final = re.compile("[\\x00-\\x08\\x0e-\\x1f\\x7f\\ufffd]")
_LOOKED_AT: Final = 65536
"""Bytes or characters by which it is judged what a file is."""
_ODD_ENOUGH: Final = 16
_ODD_SHARE: Final = 0.02
"""Text holds at most so many control characters; encrypted bytes hold 12 in 100."""
_ZERO_SHARE: Final = 0.2
"""Zero bytes at one parity, of all bytes, in UTF-16 of a Latin script: near a half."""

MAX_DEPTH: Final = 2000
"""Nested elements beyond this are not a book; Python's own recursion is not used."""

_XML_NAMES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ENTITY = re.compile(
    r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|&([A-Za-z][A-Za-z0-9._-]*);",
    re.DOTALL,
)
_DECLARED = re.compile(r"<!ENTITY\s+([^\s%\"'>]+)\s+(SYSTEM|PUBLIC|[\"'])", re.DOTALL)
_XML_DECLARATION = re.compile(r"^\s*<\?xml\b[^>]*\?>")
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")
_META_ENCODING = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([A-Za-z0-9._:-]+)", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!DOCTYPE\s[^\[>]*(\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"


def decode(data: bytes, *, href: str, findings: list[Finding]) -> str:
    """Return the text of a document by its byte order mark, its declaration, or as UTF-8.

    Text that is not what it says is read as Windows-1252, which maps every byte, with a finding.

    Raises
    ------
    BookError
        It is no text at all: bytes that are encrypted, packed or a picture.
    """
    text = _decoded(data, href=href, findings=findings)
    odd = len(_NO_TEXT.findall(text[:_LOOKED_AT]))
    if odd > max(_ODD_ENOUGH, _ODD_SHARE * len(text[:_LOOKED_AT])):
        raise BookError(
            f"{href} is no text: {odd} control characters in its first {len(text[:_LOOKED_AT])}; "
            "it is damaged, encrypted or of another kind than its name says",
            href=href,
        )
    return text


def _wide(data: bytes) -> str:
    """Return the codec of text that is UTF-16 without a mark, by where its zeros are."""
    even, odd = (data[start:_LOOKED_AT:2].count(0) for start in (0, 1))
    enough = min(len(data), _LOOKED_AT) * _ZERO_SHARE
    if odd > enough and even * 10 < odd:
        return "utf-16-le"
    return "utf-16-be" if even > enough and odd * 10 < even else ""


def _decoded(data: bytes, *, href: str, findings: list[Finding]) -> str:
    for mark, marked in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"<\x00?\x00", "utf-16-le"),
        (b"\x00<\x00?", "utf-16-be"),
    ):
        if data.startswith(mark):
            codec = marked
            break
    else:
        wide = _wide(data)
        declared = _XML_ENCODING.search(data[:1024]) or _META_ENCODING.search(data[:2048])
        codec = wide or (declared.group(1).decode("ascii") if declared else "utf-8")
        if not wide and codec.lower().replace("-", "").replace("_", "") in {
            "utf16",
            "utf16le",
            "utf16be",
        }:
            codec = "utf-8"  # a wide encoding whose declaration could be read byte by byte
    for attempt in (codec, "utf-8"):
        try:
            return data.decode(attempt).translate(C1)
        except (LookupError, UnicodeError):
            continue
    findings.append(
        Finding(
            code="book-encoding",
            severity="warning",
            message=f"{href} is not valid {codec}; read as Windows-1252",
            where={"href": href},
        )
    )
    return data.decode("cp1252", errors="replace")


def parse_document(data: bytes, *, href: str, findings: list[Finding]) -> Element | None:
    """Return the root of a content document, or None when there is nothing in it.

    Raises
    ------
    BookError
        Its entities expand without bound, or its elements nest without end.
    """
    text = _NOT_XML.sub("", decode(data, href=href, findings=findings))
    if not text.strip():
        return None
    prepared = _settle_entities(text, href=href, findings=findings)
    try:
        return _checked(_parse_xml(prepared), href=href)
    except etree.XMLSyntaxError as error:
        reason = str(error).splitlines()[0]
        if "amplification" in reason or "entity reference loop" in reason.lower():
            raise BookError(
                f"{href} declares entities that expand without bound; it is refused", href=href
            ) from None
    findings.append(
        Finding(
            code="book-not-well-formed",
            severity="warning",
            message=f"{href} is not well-formed and was read as HTML: {reason}",
            where={"href": href},
        )
    )
    return parse_html(text, href=href)


def parse_html(text: str, *, href: str) -> Element | None:
    """Return the root of text read by the HTML parser, which takes anything; None when empty."""
    parser = etree.HTMLParser(
        encoding="utf-8",  # whatever a meta element says
        recover=True,
        no_network=True,
        huge_tree=True,  # for its depth; HTML has no entities to expand
        remove_comments=True,
        remove_pis=True,
    )
    text = _NOT_XML.sub("", text)
    text = _DOCTYPE.sub("", _XML_DECLARATION.sub("", text, count=1), count=1)
    try:
        root = etree.fromstring(text.encode("utf-8"), parser)
    except (etree.XMLSyntaxError, etree.ParserError):
        return None
    return None if root is None else _checked(root, href=href)


def parse_package(data: bytes, *, href: str) -> Element:
    """Return the root of a container, package, encryption or NCX file, mended where need be.

    Raises
    ------
    BookError
        There is no element in it.
    """
    findings: list[Finding] = []
    text = _NOT_XML.sub("", decode(data, href=href, findings=findings))
    prepared = _settle_entities(text, href=href, findings=findings)
    root = None
    try:
        root = _parse_xml(prepared, recover=True)
    except etree.XMLSyntaxError as error:
        reason = str(error).splitlines()[0]
    else:
        reason = "there is no element in it"
    if root is None:
        raise BookError(f"{href} cannot be read as XML: {reason}", href=href)
    return _checked(root, href=href)


def _parse_xml(text: str, *, recover: bool = False) -> Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        recover=recover,
        resolve_entities="internal",
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    body = _XML_DECLARATION.sub("", text, count=1).lstrip()
    return etree.fromstring(body.encode("utf-8"), parser)


def _settle_entities(text: str, *, href: str, findings: list[Finding]) -> str:
    """Replace named references that XML alone does not know.

    HTML's names become their characters, references to outside files nothing, unknown names
    their own letters; what the document declares itself is left to the parser.
    """
    if "&" not in text:
        return text
    doctype = _DOCTYPE.search(text[:65536])
    declared = dict(_DECLARED.findall(doctype.group(0))) if doctype else {}
    start = doctype.end() if doctype else 0

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None or name in _XML_NAMES or declared.get(name, "") in ('"', "'"):
            return match.group(0)
        if name in declared:
            findings.append(_entity_finding("book-external-entity", name, href))
            return ""
        character = html.entities.html5.get(f"{name};")
        if character is None:
            findings.append(_entity_finding("book-unknown-entity", name, href))
            return f"&amp;{name};"
        return "".join(f"&#{ord(c)};" for c in character)

    return text[:start] + _ENTITY.sub(replace, text[start:])


def _entity_finding(code: str, name: str, href: str) -> Finding:
    says = "names a file outside" if code == "book-external-entity" else "is declared nowhere"
    return Finding(
        code=code, severity="warning", message=f"&{name}; in {href} {says}", where={"href": href}
    )


def _checked(root: Element, *, href: str) -> Element:
    """Return the root; refuse a tree so deep that only an attack makes it."""
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise BookError(f"{href} nests elements more than {MAX_DEPTH} deep", href=href)
    return root


def local_name(element: Element) -> str:
    """Return the lower-case tag without namespace; empty for a comment or instruction."""
    tag = element.tag
    return tag.rsplit("}", 1)[-1].rsplit(":", 1)[-1].lower() if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its local name, whatever its namespace or prefix; "" if absent."""
    value = element.get(name)
    if value is not None:
        return str(value)
    if name == "lang" and (value := element.get(_XML_NAMESPACE + "lang")) is not None:
        return str(value)
    return prefixed(element, name)


def prefixed(element: Element, name: str) -> str:
    """Return an attribute that has a namespace or a prefix, such as `epub:type`; "" if absent."""
    for key, found in element.attrib.items():
        if key.endswith(("}" + name, ":" + name)):
            return str(found)
    return ""


def children(element: Element, name: str = "") -> list[Element]:
    """Return the child elements, or those of one local name."""
    return [c for c in element if (found := local_name(c)) and (not name or found == name)]


def iter_named(element: Element, names: Iterable[str]) -> Iterator[Element]:
    """Yield the element and its descendants of the given local names, in document order."""
    wanted = frozenset(names)
    for node in element.iter():
        if local_name(node) in wanted:
            yield node


def first(element: Element, name: str) -> Element | None:
    """Return the first element of a local name, itself included, or None."""
    return next(iter_named(element, (name,)), None)


def text_content(element: Element) -> str:
    """Return all text inside an element, white space runs as one space."""
    return " ".join("".join(element.itertext()).split())
