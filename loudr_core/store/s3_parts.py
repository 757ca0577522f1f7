"""A long file on its way into a bucket, part by part."""

import base64
import hashlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loudr_core.errors import StoreError

__all__ = ["content_md5", "send_parts"]

_MOST_PARTS = 10_000
"""Of one object, on every S3 server."""
_AT_ONCE = 4

Part = dict[str, Any]


def send_parts(
    upload_part: Callable[..., str], path: Path, *, part_bytes: int, size: int, digest: str
) -> list[Part]:
    """Send a file's bytes as the parts of a multipart upload, four at a time.

    Memory holds five parts at most.

    Parameters
    ----------
    upload_part : callable (PartNumber, Body, ContentMD5) -> str
        Sends a part and returns its tag; what it raises passes through.
    part_bytes : int
        Size of a part; more when the file would have more parts than a server takes.
    size : int
        Of the file.
    digest : str
        SHA-256 of the file in hexadecimal, which the bytes that were sent must have.

    Returns
    -------
    list of dict
        What completes the upload.

    Raises
    ------
    StoreError
        The file is not what it was when its digest was taken.
    """
    step = max(part_bytes, -(-size // _MOST_PARTS))
    sent: list[Part] = []
    under_way: deque[Future[Part]] = deque()
    seen = hashlib.sha256()

    def send(number: int, data: bytes) -> Part:
        tag = upload_part(PartNumber=number, Body=data, ContentMD5=content_md5(data))
        return {"PartNumber": number, "ETag": tag}

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="parts") as pool, path.open("rb") as file:
        try:
            while data := file.read(step):
                seen.update(data)
                under_way.append(pool.submit(send, len(sent) + len(under_way) + 1, data))
                if len(under_way) >= _AT_ONCE:
                    sent.append(under_way.popleft().result())
            sent += [future.result() for future in under_way]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if seen.hexdigest() != digest:
        raise StoreError(f"{path} changed while it was sent; run again", path=str(path))
    return sent


def content_md5(data: bytes) -> str:
    """Return the `Content-MD5` of a body (RFC 1864); by it the server sees that it came whole."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
