"""Chunks, halves and text tokens against the reference engine."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.algorithm import Chunking
from loudr_core.speech.loudr1.chunking import estimate_tokens, split_in_half, split_text
from loudr_core.speech.loudr1.text_tokens import LANGUAGES, TextTokenizer

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.config import ChunkConfig
from loudkit.errors import UnsupportedLanguageError
from loudkit.frontend import chunking as reference
from loudkit.frontend.text import GraphemeTextFrontend

BATCH = 20
WORDS = (
    "Mr", "Dr", "prof", "św", "dog", "quick", "I", "A", "xA", "9A", "żA", "-A", "Zażółć", "😀", "3",
    "x" * 45, "St", "(a", "e\u0301", "日本",
)  # fmt: skip
GAPS = (
    ". ", "! ", "? ", "; ", ", ", ".", "...", " ", "  ", "", "\u00a0", "\u202f", "\u2007",
    "\u2009", "\u3000", "\n", "\t", "\r", ".\u00a0", "! ", "\u200b", "\x1f",
)  # fmt: skip
TEXTS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)).map("".join), max_size=40
).map("".join)
CONFIGS = st.fixed_dictionaries(
    {
        "enabled": st.sampled_from([True, True, True, False]),
        "max_tokens": st.sampled_from([255, 120, 60, 20, 4, 3, 2]),
        "prefix_tokens": st.just(0),
        "mid_sentence_period": st.sampled_from(["hold", "break"]),
    },
    optional={
        "split_on": st.lists(
            st.sampled_from([". ", "! ", "? ", "; ", ", ", ".", "", " ", "...", "dog", "\u00a0"]),
            min_size=1,
            max_size=5,
        ).map(tuple),
        "abbreviations": st.lists(
            st.sampled_from(["A", "Dr", "Mr", "św", "prof", "x", "I", "."]), max_size=5
        ).map(tuple),
        "first_chunk_max_tokens": st.sampled_from([None, 1, 2, 3, 10, 20, 96]),
    },
)


@settings(max_examples=60, deadline=None)
@given(CONFIGS, st.lists(TEXTS, min_size=BATCH, max_size=BATCH))
def test_chunks(config: dict[str, Any], texts: list[str]) -> None:
    """1,200 texts, and what holds for any of them: nothing is lost, nothing is too long."""
    if (config.get("first_chunk_max_tokens") or 0) > config["max_tokens"]:
        config = {**config, "first_chunk_max_tokens": config["max_tokens"]}
    ours, theirs = Chunking(**config), ChunkConfig(**config)
    for text in texts:
        chunks = split_text(text, ours)
        assert chunks == reference.split_text(text, theirs)
        assert estimate_tokens(text) == reference.estimate_tokens(text)
        assert all(chunk and chunk == chunk.strip() for chunk in chunks)
        assert "".join("".join(chunks).split()) == "".join(text.split())


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=BATCH, max_size=BATCH))
def test_halves(texts: list[str]) -> None:
    """1,200 texts."""
    for text in texts:
        assert split_in_half(text) == reference.split_in_half(text)


def tokenizer_json() -> bytes:
    """Return a made-up tokenizer: a small BPE with some of the letters and merges of English."""
    marks = ["[STOP]", "[UNK]", "[SPACE]", "[START]", *(f"[{each}]" for each in LANGUAGES)]
    letters = [*"abcdefghijklmnopqrstuwxyzß.,!?'-39", *"\u0301\u0302\u0307\u0328"]
    merges = [("t", "h"), ("th", "e"), ("q", "u"), ("x", "x"), ("o", "g"), ("d", "og"), ("m", "r")]
    words = ["".join(each) for each in merges]
    vocabulary = {each: number for number, each in enumerate(marks + letters + words)}
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary[mark],
                "content": mark,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for mark in marks
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "[UNK]",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "vocab": vocabulary,
            "merges": [" ".join(each) for each in merges],
        },
    }
    return json.dumps(document).encode()


SPELLINGS = st.one_of(
    TEXTS,
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            ["[", "]", "[en]", "[SPACE]", "[STOP]", " ", "The", "İ", "ﬁ", "½", "ẞ", "Å"]
        ),
        max_size=12,
    ).map("".join),
)
SPOKEN = st.sampled_from([*LANGUAGES, "PL", "En", "nb", "en-us", "", "cs"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SPELLINGS, SPOKEN), min_size=BATCH, max_size=BATCH))
def test_text_tokens(cases: list[tuple[str, str]]) -> None:
    """1,200 texts, in languages there are and are not."""
    given_json = tokenizer_json()
    ours, theirs = TextTokenizer(given_json), GraphemeTextFrontend(given_json)
    for text, language in cases:
        try:
            expected = theirs.encode(text, language)
        except UnsupportedLanguageError:
            with pytest.raises(SynthesisError, match="it speaks da, de, en"):
                ours.encode(text, language)
            continue
        found = ours.encode(text, language)
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
