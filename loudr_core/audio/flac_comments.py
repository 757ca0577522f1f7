"""The metadata of a FLAC file, written anew: its stream information and our comments, no more.

A stored take is written once for each segment, and opening the file again to tag it would cost a
third of coding it. What is read back is read by mutagen, which knows nothing of this.

References
----------
RFC 9639, sections 8.1 (header of a metadata block), 8.2 (STREAMINFO) and 8.6 (Vorbis comment).
"""

from collections.abc import Mapping

__all__ = ["with_comments"]

_MARK = b"fLaC"
_STREAMINFO, _VORBIS_COMMENT, _LAST = 0, 4, 0x80
_HEADER = 4
_MOST_BYTES = 2**24 - 1
_NAME = frozenset(map(chr, range(0x20, 0x7E))) - {"="}


def with_comments(flac: bytes, comments: Mapping[str, str]) -> bytes:
    """Return the file with these comments in place of all metadata but the stream information.

    Parameters
    ----------
    flac : bytes
        A file as a FLAC encoder wrote it. The name of the encoder is kept.
    comments : mapping of str to str
        Written in this order. Names are printable ASCII without `=`; values are any text.

    Raises
    ------
    ValueError
        A name is not allowed, a value is no text, the comments are longer than a block may be, or
        the bytes are no FLAC file.
    """
    info, vendor, frames = _taken_apart(flac)
    fields = [vendor, *(_field(name, value) for name, value in comments.items())]
    count = len(comments).to_bytes(4, "little")
    sized = [len(field).to_bytes(4, "little") + field for field in fields]
    body = b"".join([sized[0], count, *sized[1:]])
    if len(body) > _MOST_BYTES:
        raise ValueError(f"comments of {len(body)} bytes: a FLAC file holds {_MOST_BYTES}")
    return b"".join(
        [_MARK, _block(_STREAMINFO, info), _block(_VORBIS_COMMENT | _LAST, body), frames]
    )


def _block(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def _field(name: str, value: str) -> bytes:
    if not name or not _NAME.issuperset(name):
        raise ValueError(f"{name!r} cannot name a FLAC comment: use printable ASCII without '='")
    return f"{name}={value}".encode()


def _taken_apart(flac: bytes) -> tuple[bytes, bytes, memoryview]:
    """Return the stream information, the encoder's name and the frames."""
    info, vendor, place, last = b"", b"", len(_MARK), False
    if not flac.startswith(_MARK):
        raise ValueError("not a FLAC file: it does not begin with fLaC")
    while not last:
        header = flac[place : place + _HEADER]
        length = int.from_bytes(header[1:], "big")
        body = flac[place + _HEADER : place + _HEADER + length]
        if len(header) < _HEADER or len(body) < length:
            raise ValueError("not a FLAC file: it ends within its metadata")
        last, kind = bool(header[0] & _LAST), header[0] & ~_LAST
        if kind == _STREAMINFO:
            info = body
        elif kind == _VORBIS_COMMENT:
            vendor = body[4 : 4 + int.from_bytes(body[:4], "little")]
        place += _HEADER + length
    if not info:
        raise ValueError("not a FLAC file: it has no stream information")
    return info, vendor, memoryview(flac)[place:]
