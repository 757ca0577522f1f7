"""The made-up language of the tiny bundles: what its tokens mean, and which one follows which.

Real speech tokens fall into classes, and a model that talks moves between them: speech, a short
silence of three tokens, and after the last one either more speech or the stop token. Words with no
meaning in any language (`TRIGGERS`) make it stammer, fall silent, or never stop, so that every
branch of an engine can be reached by a sentence.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CONTROLS",
    "FLAGS",
    "HIDDEN",
    "QUIET",
    "RENDER_SILENCE",
    "SILENCE",
    "SPEECH_VOCABULARY",
    "STOP",
    "TEXT_VOCABULARY",
    "TRIGGERS",
    "Floats",
    "embeddings",
    "heads",
    "renderer_table",
    "token_controls",
    "tokenizer_document",
]

Floats = NDArray[np.float32]

HIDDEN = 1024
SPEECH_VOCABULARY, ACOUSTIC = 8194, 6561
START, STOP = 6561, 6562
TEXT_VOCABULARY = 2454

# The published sets of the released weights; loudr-1 specification, section 2.
SILENCE = (
    1731, 1821, 1822, 1824, 1975, 2058, 2068, 3190, 3377, 3918, 3927, 3928, 3930, 4008, 4009, 4011,
    4012, 4137, 4146, 4161, 4171, 4173, 4174, 4218, 4245, 4251, 4252, 4254, 4255, 4260, 4282,
)  # fmt: skip
RENDER_SILENCE = (4137, 4215, 4218, 4299, 6162, 6324, 6405, 6486)
QUIET = (
    1458, 1461, 1488, 1701, 1704, 1707, 1716, 1731, 1785, 1788, 1869, 1947, 1950, 1951, 1959, 1978,
    2028, 2031, 2040, 2058, 2076, 2112, 2139, 3645, 3648, 3651, 3704, 3888, 3894, 4188, 5838, 6081,
    6183, 6537,
)  # fmt: skip

TRIGGERS = {"loopado": 0, "hushado": 1, "ramblado": 2, "breakado": 3}
"""Words to the flag each raises; said twice, a word acts twice as strongly.

`loopado` repeats a cycle of four tokens, `hushado` falls silent for a second or more, `ramblado`
forgets to stop, `breakado` stops as soon as it may.
"""
_FIRST_TRIGGER_ID = 2000

FLAGS = slice(256, 264)
"""Columns of a text row that carry the flags; all other rows hold zero there."""
CONTROLS = slice(1016, 1024)
"""Columns of a speech row that say which class its token is of; all other rows hold zero there."""
_SPEECH, _PAUSE_1, _PAUSE_2, _PAUSE_3, _HUSH, _LOOP = 0, 1, 2, 3, 4, slice(5, 8)
_LOOP_IDS = (300, 2500, 5100)


def token_controls() -> Floats:
    """Return the classes of each speech token, 0 or 1, float32, shape (8194, 8)."""
    table = np.zeros((SPEECH_VOCABULARY, 8), np.float32)
    table[:, _SPEECH] = 1
    for place, token in enumerate(sorted({*SILENCE, *RENDER_SILENCE})):
        table[token] = 0
        table[token, _PAUSE_1 + place % 3] = 1
    table[list(RENDER_SILENCE), _HUSH] = 1
    table[list(_LOOP_IDS), range(8)[_LOOP]] = 1
    return table


def _members(column: int) -> NDArray[np.intp]:
    return np.flatnonzero(token_controls()[:, column])


def heads(rng: np.random.Generator, *, stop_bias: float = 0.0) -> dict[str, Floats]:
    """Return the matrices that turn a hidden row into logits.

    Parameters
    ----------
    rng : numpy.random.Generator
    stop_bias : float
        Added to the logit of the stop token: below zero, rows grow long.

    Returns
    -------
    dict
        `w1` (1008, 24), `w2` (24, 8194) and `b` (8194,) make the base logits; `flag_logits`
        (8, 8194) are added once a flag; `follow` (8, 8194) is what follows a class, `gates`
        (8, 8) how much a flag adds to each class's say, `gate_base` (8,) what it has anyway.
    """
    w1 = rng.standard_normal((HIDDEN - 16, 24), np.float32) * np.float32(0.1)
    w2 = rng.standard_normal((24, SPEECH_VOCABULARY), np.float32) * np.float32(0.55)
    bias = np.zeros(SPEECH_VOCABULARY, np.float32)
    bias[ACOUSTIC:] = -4  # marks are drawn now and then, as from the real model
    bias[[*QUIET, *SILENCE, *RENDER_SILENCE]] = -2
    bias[STOP] = stop_bias
    w2[:, [*SILENCE, *RENDER_SILENCE, *_LOOP_IDS, STOP]] = 0  # only what is said below moves these
    follow = np.zeros((8, SPEECH_VOCABULARY), np.float32)
    follow[_SPEECH, _members(_PAUSE_1)] = 8.0
    follow[_PAUSE_1, _members(_PAUSE_2)] = 16
    follow[_PAUSE_2, _members(_PAUSE_3)] = 16
    follow[_PAUSE_3, STOP] = 10.6
    follow[_HUSH, _members(_HUSH)] = 14.4
    for token, after in zip(range(8)[_LOOP], np.roll(_LOOP_IDS, -1), strict=True):
        follow[token, after] = 14.2
    flag_logits = np.zeros((8, SPEECH_VOCABULARY), np.float32)
    flag_logits[0, _LOOP_IDS[0]] = 6
    flag_logits[2, STOP] = -3.4
    flag_logits[3, STOP] = 12
    gates, gate_base = np.zeros((8, 8), np.float32), np.ones(8, np.float32)
    gates[0, _LOOP] = gates[1, _HUSH] = 1
    gate_base[_LOOP] = gate_base[_HUSH] = 0
    return {
        "w1": w1,
        "w2": w2,
        "b": bias,
        "flag_logits": flag_logits,
        "follow": follow,
        "gates": gates,
        "gate_base": gate_base,
    }


def embeddings(rng: np.random.Generator) -> dict[str, NDArray[np.float16]]:
    """Return the four tables of the checkpoint, float16, with their flag and class columns."""
    shapes = {
        "t3.text_emb.weight": (TEXT_VOCABULARY, 0.5),
        "t3.speech_emb.weight": (SPEECH_VOCABULARY, 0.5),
        "t3.text_pos_emb.emb.weight": (2050, 0.1),
        "t3.speech_pos_emb.emb.weight": (4100, 0.1),
    }
    tables = {}
    for name, (n_rows, scale) in shapes.items():
        values = rng.standard_normal((n_rows, HIDDEN), np.float32) * np.float32(scale)
        values[:, FLAGS] = values[:, CONTROLS] = 0
        tables[name] = values.astype(np.float16)
    for flag in TRIGGERS.values():
        tables["t3.text_emb.weight"][_FIRST_TRIGGER_ID + flag, FLAGS.start + flag] = 1
    tables["t3.speech_emb.weight"][:, CONTROLS] = token_controls()
    return tables


def renderer_table(rng: np.random.Generator) -> Floats:
    """Return what each acoustic token sounds like, float32, shape (6561, 80).

    The mean of the first 40 columns is its pitch in octaves, that of the others its level.
    """
    table = rng.standard_normal((ACOUSTIC, 80), np.float32) * np.float32(0.3)
    table[:, :40] += rng.uniform(-1, 1, (ACOUSTIC, 1)).astype(np.float32)
    table[list(QUIET), 40:] -= 3
    table[[*SILENCE, *RENDER_SILENCE], 40:] -= 7
    return table


def tokenizer_document() -> dict[str, object]:
    """Return a tokenizer of single characters, with the real one's marks and the trigger words."""
    vocabulary = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "!": 3, ",": 7, ".": 9, "?": 13}
    vocabulary["[START]"] = 255
    tags = ("da", "de", "es", "fi", "fr", "it", "nl", "no", "pt", "sv")
    vocabulary |= {f"[{tag}]": 800 + place for place, tag in enumerate(tags)}
    vocabulary |= {"[en]": 708, "[pl]": 717}
    characters = "abcdefghijklmnopqrstuvwxyz0123456789;:'\"-–—…()«»“”‘’¿¡/+łøæœßđ"
    marks = "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0328\u030c\u0307"
    vocabulary |= {each: 20 + place for place, each in enumerate(characters + marks)}
    words = {word: _FIRST_TRIGGER_ID + flag for word, flag in TRIGGERS.items()}
    vocabulary |= words
    added = [name for name in vocabulary if name.startswith("[") or name in words]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary[name],
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": name not in words,
            }
            for name in sorted(added, key=vocabulary.__getitem__)
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "[UNK]",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocabulary,
            "merges": [],
        },
    }
