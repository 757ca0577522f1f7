"""Damaged packages are refused in one line or opened whole; no phonemes break a row of ids."""

import json
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sanotts_package import CONFIG_NAME, SYMBOLS, WEIGHTS_NAME, write_package

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.sanotts.package import Package, open_package
from loudr_core.speech.sanotts.phonemes import PhonemeConfig, encode
from loudr_core.speech.sanotts.reading import plain_marks

CONFIG = PhonemeConfig(kind="text", espeak_voice="", ids={**SYMBOLS, "aɪ": 20, '"': 150})
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 10**12), st.floats(allow_nan=False),
    st.text(max_size=5), st.just([]), st.just({}), st.lists(st.integers(0, 3), max_size=3),
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("whole"), singing=False)


@pytest.fixture(scope="module")
def scratch(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("damaged") / "v"
    shutil.copytree(whole, folder)
    yield folder


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _places(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value[:4]):
            yield from _places(each, (*path, place))


def _opened(folder: Path) -> Package | None:
    try:
        return open_package(folder)
    except BundleError as error:
        assert "\n" not in error.message
        assert error.context["path"]
        return None


@given(st.data())
@settings(max_examples=250, deadline=None)
def test_any_value_in_the_manifest(whole: Path, scratch: Path, data: st.DataObject) -> None:
    manifest = json.loads((whole / "manifest.json").read_text("utf-8"))
    *way, last = data.draw(st.sampled_from(list(_places(manifest))))
    target = manifest
    for step in way:
        target = target[step]
    if data.draw(st.booleans()) and isinstance(target, dict):
        del target[last]
    else:
        target[last] = data.draw(ANYTHING)
    (scratch / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    _opened(scratch)
    shutil.copy(whole / "manifest.json", scratch / "manifest.json")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_byte_in_any_file(whole: Path, scratch: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["manifest.json", CONFIG_NAME, WEIGHTS_NAME]))
    content = bytearray((whole / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        del content[place:]
    (scratch / name).write_bytes(content)
    opened = _opened(scratch)
    shutil.copy(whole / name, scratch / name)
    assert opened is None or name != WEIGHTS_NAME


@given(st.text(alphabet=st.sampled_from([*SYMBOLS, "ɪ", '"', "&", "“"]), max_size=60))
@settings(max_examples=300, deadline=None)
def test_a_row_is_whole_whatever_the_phonemes(phonemes: str) -> None:
    try:
        row = encode(phonemes, CONFIG, vocabulary=80)
    except SynthesisError as error:
        assert "\n" not in error.message
        return
    ids = row.ids
    assert ids[:2].tolist() == [1, 0]
    assert ids[-1] == 2
    assert len(ids) % 2 == 1
    assert not ids[1::2].any()
    assert ids.max() < 80
    left_out = len(row.unmapped) + len(row.untaught)
    assert len(ids) // 2 - 1 <= len(unicodedata.normalize("NFD", phonemes)) - left_out


@given(st.text(max_size=80))
@settings(max_examples=500, deadline=None)
def test_plain_marks_keep_every_letter(text: str) -> None:
    plain = plain_marks(text)
    assert [c for c in plain if c.isalnum()] == [c for c in text if c.isalnum()]
    assert plain == plain_marks(plain)
    assert not set(plain) & set('“”„«»[]{}—…"')
    assert plain.strip() == plain
