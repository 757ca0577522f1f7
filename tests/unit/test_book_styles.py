"""Style sheets: what hides, what overrules it, and what is not understood hides nothing."""

import pytest

from loudr_core.book.parse import parse_document
from loudr_core.book.styles import StyleReader

PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head><body>'
    '<div class="x"><p id="a" class="one two">1</p><section><p id="b">2</p></section></div>'
    '<p id="c" class="one">3</p><p id="d" style="display:block" class="one">4</p></body></html>'
)


def hidden(head: str, files: dict[str, str] | None = None) -> str:
    root = parse_document(PAGE.format(head=head).encode(), href="t/p.xhtml", findings=[])
    assert root is not None
    kept = files or {}
    reader = StyleReader(lambda _, href: (href, kept[href]) if href in kept else None)
    styles = reader.styles_of(root, "t/p.xhtml")
    return "".join(e.get("id", "") for e in root.iter() if styles.hides(e))


@pytest.mark.parametrize(
    ("css", "found"),
    [
        (".one { display: none }", "ac"),
        ("P.one{DISPLAY:NONE;color:red}", "ac"),
        (".one{color:red;visibility : hidden}", "acd"),
        ("#b, .zero{display:none}", "b"),
        (".x p{display:none}", "ab"),
        (".x > p{display:none}", "a"),
        ("div.x > section > p{display:none}", "b"),
        ("p.one.two{display:none}", "a"),
        (".one{display:none} p{display:block}", "ac"),
        (".one{display:none} p.one{display:block}", ""),
        (".one{display:none !important} p.one{display:block}", "acd"),
        ("p{display:none} .one{display:inherit} #a{display:none}", "ab"),
        ("@media print{.one{display:none}} .two{display:none}", "a"),
        ("@media amzn-mobi{.one{display:none}}", ""),
        ("@media (max-width: 30em){.one{display:none}}", ""),
        ("@media screen{.one{display:none}}", "ac"),
        ("@font-face{font-family:x;src:url(x)} @page{margin:1em} .two{display:none}", "a"),
        ("/* .one{display:none} */ .two{display:none}", "a"),
        (".two{content:'}';display:none}", "a"),
        (".one:first-child{display:none} .one::before{display:none} p[id]{display:none}", ""),
        ("p + p{display:none} *{display:none} a:hover{display:none}", ""),
        (".one{display:none", "ac"),
        ("}}} .two{display:none}", ""),
        ("@charset 'utf-8'; .two{display:none}", "a"),
    ],
)
def test_what_a_sheet_hides(css: str, found: str) -> None:
    assert hidden(f"<style><![CDATA[{css}]]></style>") == found


def test_sheets_that_are_linked_and_imported() -> None:
    files = {
        "s.css": "@import 'i.css'; @import url(p.css) print; .two{display:none}",
        "i.css": "@import 's.css'; #b{display:none}",
        "p.css": "#c{display:none}",
        "alt.css": "#d{display:none !important}",
    }
    link = '<link rel="stylesheet" href="{}"/>'
    assert hidden(link.format("s.css"), files) == "ab"
    assert hidden(link.format("gone.css"), files) == ""
    assert hidden('<link rel="alternate stylesheet" href="alt.css"/>', files) == ""
    assert hidden('<link rel="stylesheet" media="print" href="alt.css"/>', files) == ""
