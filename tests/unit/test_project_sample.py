"""The sample book is what its source says, byte for byte."""

import importlib.util
import io
import re
import sys
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
from lxml import etree

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
EPUB = EXAMPLES / "the-lamp-at-skerry-head.epub"
COVER = EXAMPLES / "the-lamp-at-skerry-head.jpg"


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_sample", EXAMPLES / "build_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the class decorator looks its module up by name
    spec.loader.exec_module(module)
    return module


def test_the_epub_is_the_markdown_rebuilt(builder: ModuleType) -> None:
    source = (EXAMPLES / "the-lamp-at-skerry-head.md").read_text("utf-8")
    assert builder.build(source, COVER.read_bytes()) == EPUB.read_bytes()


def test_every_document_is_well_formed_and_every_reference_resolves() -> None:
    with zipfile.ZipFile(EPUB) as archive:
        assert archive.namelist()[0] == "mimetype"
        assert archive.read("mimetype") == b"application/epub+zip"
        names = set(archive.namelist())
        anchors, targets = set(), set()
        for name in sorted(n for n in names if n.endswith((".xhtml", ".ncx", ".opf", ".xml"))):
            tree = etree.parse(io.BytesIO(archive.read(name)))
            href = Path(name).name
            anchors |= {href} | {f"{href}#{e.get('id')}" for e in tree.iter() if e.get("id")}
            for element in tree.iter():
                for attribute in ("href", "src"):
                    if (target := element.get(attribute)) and "://" not in target:
                        targets.add(href + target if target.startswith("#") else target)
    files = {Path(name).name for name in names}
    assert targets <= anchors | files


def test_no_word_of_the_markdown_is_missing(builder: ModuleType) -> None:
    source = (EXAMPLES / "the-lamp-at-skerry-head.md").read_text("utf-8")
    _, _, body = source.split("---\n", 2)
    body = re.sub(r"\[\^\d+\]:?", " ", body)
    with zipfile.ZipFile(EPUB) as archive:
        pages = [n for n in archive.namelist() if n.endswith(".xhtml") and "nav" not in n]
        text = " ".join("".join(etree.fromstring(archive.read(page)).itertext()) for page in pages)
    words = re.compile(r"[\w’½]+")
    have = words.findall(text)
    want = words.findall(body)
    missing = [word for word in set(want) if have.count(word) < want.count(word)]
    assert not missing


def test_the_cover_is_a_square_jpeg_of_modest_size() -> None:
    data = COVER.read_bytes()
    assert data[:3] == b"\xff\xd8\xff"
    assert len(data) < 150_000
    frame_header = re.search(rb"\xff[\xc0\xc1\xc2]..(?P<bits>.)(?P<size>....)", data, re.DOTALL)
    assert frame_header is not None
    height = int.from_bytes(frame_header["size"][:2], "big")
    width = int.from_bytes(frame_header["size"][2:], "big")
    assert height == width == 1500


def test_the_manifest_names_the_sample_as_it_is() -> None:
    manifest = tomllib.loads((ROOT / "manifests/books/example.toml").read_text("utf-8"))
    data = (ROOT / manifest["source"]).read_bytes()
    assert manifest["bytes"] == len(data)
    assert manifest["sha256"] == sha256(data).hexdigest()
