from dataclasses import replace

import pytest
from mutagen.mp4 import MP4

from loudr_core.errors import PublishError
from loudr_core.publish.aac import Encoding
from loudr_core.publish.cover import Cover
from loudr_core.publish.m4b import M4bSpec, write_m4b
from loudr_core.publish.tags import FREEFORM, Tags, language_code, write_tags

SILENT_FRAME = b"\x01\x18\x20\x07"
FULL = Tags(
    title="The Time Machine",
    authors=("H. G. Wells", "A. N. Other"),
    narrator="Heart",
    language="en-GB",
    date="1895",
    subtitle="An Invention",
    short_description="A man travels.",
    description="A man travels far.",
    rights="Public domain",
    publisher="Heinemann",
    series="Scientific Romances",
    series_part="2",
    isbn="9780141439976",
    asin="B002RKSXXX",
    voices=(("heart", "embedded"),),
    producer="loudr 0.1.0",
)


@pytest.fixture
def file(tmp_path):
    spec = M4bSpec(encoding=Encoding(), n_samples=10240, chapters=(), tags=Tags(title="x"))
    return write_m4b(tmp_path / "book.m4b", [SILENT_FRAME] * 11, spec).path


def test_every_tag_lands(file):
    write_tags(file, FULL, Cover(data=b"\xff\xd8\xffx", media_type="image/jpeg", width=1, height=1))
    tags = MP4(file).tags
    text = {
        "\xa9nam": "The Time Machine",
        "\xa9alb": "The Time Machine",
        "\xa9ART": "H. G. Wells, A. N. Other",
        "aART": "H. G. Wells, A. N. Other",
        "\xa9wrt": "Heart",
        "\xa9nrt": "Heart",
        "\xa9gen": "Audiobook",
        "\xa9day": "1895",
        "desc": "A man travels.",
        "ldes": "A man travels far.",
        "cprt": "Public domain",
        "\xa9pub": "Heinemann",
        "\xa9mvn": "Scientific Romances",
        "\xa9grp": "Scientific Romances #2",
        "soal": "Scientific Romances 002 - The Time Machine",
        "\xa9too": "loudr 0.1.0",
        "\xa9cmt": "Narrated by a synthetic voice: heart (embedded). Made with loudr 0.1.0.",
    }
    assert {name: tags[name] for name in text} == {name: [value] for name, value in text.items()}
    freeform = {
        "SERIES": b"Scientific Romances",
        "SERIES-PART": b"2",
        "ISBN": b"9780141439976",
        "ASIN": b"B002RKSXXX",
        "SUBTITLE": b"An Invention",
        "PUBLISHER": b"Heinemann",
        "LANGUAGE": b"en-GB",
    }
    assert {k: bytes(tags[FREEFORM + k][0]) for k in freeform} == freeform
    assert tags["stik"] == [2]
    assert tags["pgap"] is True
    assert tags["shwm"] == [1]
    assert tags["\xa9mvi"] == [2]
    assert bytes(tags["covr"][0]) == b"\xff\xd8\xffx"
    assert len(tags) == len(text) + len(freeform) + 5


def test_empty_fields_write_nothing(file):
    write_tags(file, Tags(title="Untold"), None)
    assert set(MP4(file).tags) == {
        "\xa9nam", "\xa9alb", "\xa9gen", "\xa9cmt", "\xa9too", "stik", "pgap"
    }  # fmt: skip


def test_gaps_are_told_in_the_comment():
    one = replace(FULL, gaps=("chapter 2, “He smiled.”",)).comment()
    assert one.endswith(" 1 passage is missing from the audio: chapter 2, “He smiled.”.")
    assert "2 passages are missing" in replace(FULL, gaps=("a", "b")).comment()


@pytest.mark.parametrize(
    ("part", "index"), [("1.5", None), ("2-3", None), ("99999", None), ("7", 7)]
)
def test_a_part_that_is_no_number_keeps_its_words(file, part, index):
    write_tags(file, replace(FULL, series_part=part), None)
    tags = MP4(file).tags
    assert bytes(tags[FREEFORM + "SERIES-PART"][0]).decode() == part
    assert tags.get("\xa9mvi") == (index and [index])


def test_a_long_description_is_short_in_the_list_and_whole_elsewhere(file):
    long = "The traveller spoke. " * 60
    write_tags(file, Tags(title="x", description=long), None)
    tags = MP4(file).tags
    assert tags["ldes"] == [long]
    assert len(tags["desc"][0]) <= 255
    assert tags["desc"][0].endswith("…")


def test_odd_characters_do_not_break_the_file(file):
    write_tags(file, Tags(title="a\0b \ud800 \U0001f600"), None)
    assert MP4(file).tags["\xa9nam"] == ["ab  \U0001f600"]


@pytest.mark.parametrize(
    ("tag", "code"),
    [("en-GB", "eng"), ("de", "deu"), ("zh_Hans", "zho"), ("gsw-CH", "gsw"), ("", "und"),
     ("x-klingon", "und"), ("english", "und")],
)  # fmt: skip
def test_a_language_has_three_letters(tag, code):
    assert language_code(tag) == code


def test_tags_need_an_mp4(tmp_path):
    path = tmp_path / "text.m4b"
    path.write_text("not audio")
    with pytest.raises(PublishError, match=r"text\.m4b"):
        write_tags(path, FULL, None)
