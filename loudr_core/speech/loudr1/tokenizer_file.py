"""Where a checkpoint's tokenizer is, and whether it is the right one; section 3.4.

The numbers that the text becomes are rows of the embedding tables: another tokenizer reads the
same text as other words, and nothing else would notice.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.speech.files import read_whole
from loudr_core.speech.json_values import Section, shown
from loudr_core.speech.loudr1.container import Header, read_tensor

__all__ = ["read_tokenizer_json"]

_NAME: Final = "tokenizer.json"
_ASSET: Final = "assets.tokenizer.json"
_DIGEST_KEY: Final = "tokenizer_sha256"
_MOST_BYTES: Final = 64 << 20
_ONE_RELEASE: Final = "get tokenizer and checkpoint of one release"


def read_tokenizer_json(checkpoint: Path, header: Header, manifest: Mapping[str, object]) -> bytes:
    """Return the tokenizer's JSON: the checkpoint's own asset, or the file beside it.

    Raises
    ------
    BundleError
        There is none, or the file is not the one that the manifest names.
    """
    asset = header.tensors.get(_ASSET)
    if asset is not None:
        if asset.dtype != "U8" or len(asset.shape) != 1 or asset.shape[0] > _MOST_BYTES:
            raise BundleError(
                f"{checkpoint}: tensor {_ASSET!r} is {asset.dtype} of shape {asset.shape}, "
                "expected the bytes of a file",
                path=str(checkpoint),
                key=_ASSET,
            )
        return read_tensor(checkpoint, header, _ASSET).tobytes()
    wanted = manifest.get(_DIGEST_KEY)
    if wanted is not None and not isinstance(wanted, str):
        raise Section(manifest, path=checkpoint).fault(
            _DIGEST_KEY, f"must be a string of hexadecimal digits, found {shown(wanted)}"
        )
    path = checkpoint.parent / _NAME
    content = read_whole(path, most_bytes=_MOST_BYTES, advice=_ONE_RELEASE)
    found = hashlib.sha256(content).hexdigest()
    if wanted is not None and found != wanted:
        raise BundleError(
            f"{path} has SHA-256 {found}, the checkpoint wants {wanted[:64]}: {_ONE_RELEASE}",
            path=str(path),
            key=_DIGEST_KEY,
        )
    return content
