"""Canonical JSON and the digests over it: the one spelling behind every key and seed.

Canonical JSON is UTF-8 with sorted keys and no spaces. A digest's low 64 bits are its first
8 bytes read little-endian.
"""

import hashlib
import json

__all__ = ["canonical_json", "digest", "low64"]


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON of a value made of dict, list, str, int, float, bool and None.

    Raises
    ------
    ValueError
        The value holds NaN or an infinity, which JSON has no word for.
    """
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("utf-8")


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def low64(value: object) -> int:
    """Return the low 64 bits of the SHA-256 of the canonical JSON of a value."""
    return int.from_bytes(hashlib.sha256(canonical_json(value)).digest()[:8], "little")
