"""The algorithm's fingerprint: which constants made a token; loudr-1 specification, section 4.

Export records name it, so it must be spelled exactly as the reference spells it: sorted keys, no
spaces, ASCII escapes, and every float as the shortest string that reads back.
"""

import hashlib
import json
from dataclasses import asdict

from loudr_core.speech.loudr1.algorithm import Algorithm, Unset

__all__ = ["algorithm_fingerprint", "canonical_form"]

_SCHEMA = 1
_UNNAMED_FADE_SECONDS = 0.005
"""The fade of packs that are older than its key; left out, so that their fingerprints stay."""
_DIGITS = 16


def algorithm_fingerprint(algorithm: Algorithm) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the canonical form."""
    return hashlib.sha256(canonical_form(algorithm).encode("utf-8")).hexdigest()[:_DIGITS]


def canonical_form(algorithm: Algorithm) -> str:
    """Return the canonical string of section 4.3: `{"algorithm":{...},"schema":1}`, in ASCII."""
    body = {"schema": _SCHEMA, "algorithm": _body(algorithm)}
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _body(algorithm: Algorithm) -> object:
    values = asdict(algorithm)
    values["postprocess"] = values.pop("detectors")
    values["sample_rate"] = values.pop("sample_rate_hz")
    if algorithm.decode_mode == "single":
        del values["decode_mode"]
    if algorithm.edge_fade_seconds == _UNNAMED_FADE_SECONDS:
        del values["edge_fade_seconds"]
    if isinstance(algorithm.chunking.first_chunk_max_tokens, Unset):
        del values["chunking"]["first_chunk_max_tokens"]
    return _spelled(values)


def _spelled(value: object) -> object:
    """Return a value with every float in it as its `repr`."""
    match value:
        case dict():
            return {key: _spelled(each) for key, each in value.items()}
        case list() | tuple():
            return [_spelled(each) for each in value]
        case float():
            return repr(value)
    return value
