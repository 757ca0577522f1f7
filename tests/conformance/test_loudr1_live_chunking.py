"""Chunks, halves and text tokens against the reference engine."""

import json
from random import Random
from typing import Any

import pytest
from distinct_cases import distinct_cases

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.algorithm import Chunking
from loudr_core.speech.loudr1.chunking import estimate_tokens, split_in_half, split_text
from loudr_core.speech.loudr1.text_tokens import LANGUAGES, TextTokenizer

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.config import ChunkConfig
from loudkit.errors import UnsupportedLanguageError
from loudkit.frontend import chunking as reference
from loudkit.frontend.text import GraphemeTextFrontend

WORDS = (
    "dog", "quick", "I", "A", "xA", "9A", "żA", "-A", "Zażółć", "😀", "3", "x" * 45, "(a",
    "e\u0301", "日本",
)  # fmt: skip
TITLES = ("Mr", "Dr", "prof", "św", "St", "A", "np")
ENDS = (". ", "! ", "? ", "; ", ", ", ".", "...", ".\u00a0", "! ", ".\n", ".” ")
GAPS = (
    *ENDS, " ", "  ", "", "\u00a0", "\u202f", "\u2007", "\u2009", "\u3000", "\n", "\t", "\r",
    "\u200b", "\x1f",
)  # fmt: skip
BUDGETS = (255, 120, 60, 20, 4, 3, 2)
"""Tokens of a chunk; a character is about two of them."""


def text_of(draws: Random, budget: int) -> str:
    """Return words and gaps, mostly longer than a chunk, with marks and titles near its end."""
    length = draws.choice([0, 10, budget // 2, budget, 2 * budget])
    length += draws.randrange(30)
    text = ""
    while len(text) < length:
        to_the_end = -len(text) % (budget // 2 + 1)
        near = min(to_the_end, budget // 2 + 1 - to_the_end) < 12
        word = draws.choice(TITLES if draws.random() < (0.5 if near else 0.1) else WORDS)
        gap = draws.choice(ENDS if near else GAPS) if draws.random() < 0.6 else " "
        text += word + gap
    return text


def config_of(draws: Random) -> dict[str, Any]:
    """Return how a text is cut: half of the time as in the published bundles but for the budget."""
    config: dict[str, Any] = {"max_tokens": draws.choice(BUDGETS), "prefix_tokens": 0}
    if draws.random() < 0.5:
        return config
    config["enabled"] = draws.random() < 0.8
    config["mid_sentence_period"] = draws.choice(["hold", "break"])
    if draws.random() < 0.5:
        marks = [". ", "! ", "? ", "; ", ", ", ".", "", " ", "...", "dog", "\u00a0"]
        config["split_on"] = tuple(draws.choices(marks, k=draws.randint(1, 5)))
    if draws.random() < 0.5:
        titles = ["A", "Dr", "Mr", "św", "prof", "x", "I", "."]
        config["abbreviations"] = tuple(draws.choices(titles, k=draws.randrange(6)))
    if draws.random() < 0.5:
        first = draws.choice([None, 1, 2, 3, 10, 20, 96])
        config["first_chunk_max_tokens"] = first and min(first, config["max_tokens"])
    return config


@distinct_cases(1200, kinds={"several chunks": 700})
def test_chunks(draws: Random) -> tuple[Any, ...]:
    """What holds for any text, besides: nothing is lost, nothing is empty."""
    config = config_of(draws)
    text = text_of(draws, config["max_tokens"])
    chunks = split_text(text, Chunking(**config))
    assert chunks == reference.split_text(text, ChunkConfig(**config))
    assert estimate_tokens(text) == reference.estimate_tokens(text)
    assert all(chunk and chunk == chunk.strip() for chunk in chunks)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    return ("several chunks" if len(chunks) > 1 else "one", text, sorted(config.items()))


@distinct_cases(1200, kinds={"cut": 900, "too short": 10})
def test_halves(draws: Random) -> tuple[Any, ...]:
    text = text_of(draws, draws.choice(BUDGETS))
    halves = split_in_half(text)
    assert halves == reference.split_in_half(text)
    return ("cut" if halves else "too short", text)


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


MARKS = ("[", "]", "[en]", "[SPACE]", "[STOP]", " ", "The", "İ", "ﬁ", "½", "ẞ", "Å")
PLANES = ((0, 0x80), (0x80, 0x250), (0x250, 0xD800), (0xE000, 0x10000), (0x10000, 0x110000))
SPOKEN = (*LANGUAGES, "PL", "En", "nb", "en-us", "", "cs")


def spelling_of(draws: Random) -> str:
    """Return a text of words, of marks that a tokenizer may take for its own, or of anything."""
    match draws.randrange(3):
        case 0:
            return text_of(draws, 40)
        case 1:
            return "".join(draws.choices(MARKS, k=draws.randint(1, 12)))
        case _:
            count = draws.randint(1, 40)
            return "".join(chr(draws.randrange(*draws.choice(PLANES))) for _ in range(count))


TOKENIZER = tokenizer_json()
OURS, THEIRS = TextTokenizer(TOKENIZER), GraphemeTextFrontend(TOKENIZER)


@distinct_cases(1200, kinds={"spoken": 900, "refused": 50})
def test_text_tokens(draws: Random) -> tuple[Any, ...]:
    """Texts in languages there are and are not."""
    text, language = spelling_of(draws), draws.choice(SPOKEN)
    try:
        expected = THEIRS.encode(text, language)
    except UnsupportedLanguageError:
        with pytest.raises(SynthesisError, match="it speaks da, de, en"):
            OURS.encode(text, language)
        return ("refused", text, language)
    found = OURS.encode(text, language)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    return ("spoken", text, language)
