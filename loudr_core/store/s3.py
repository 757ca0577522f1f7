"""A store in an S3 bucket: Amazon's, Ceph's, MinIO's or any other that keeps the same promises.

What a server's ETag means differs between servers and uploads, so it is never read; what an object
holds is known by the SHA-256 that was put into its metadata. A claim is one `PutObject` with
`If-None-Match: *`. When the reply to it is lost, the client's second try is told that the object is
there already, although it is ours; a token in the metadata tells the two cases apart. `If-Match` is
not used, since servers disagree about it.

Calls are made again by the client after time-outs, throttling and server errors, a few times within
seconds, and then by the store for two minutes, since a server that is started anew must not end a
night's work; what is left of that is `StoreUnavailable`. Credentials come from the usual chain of
the AWS tools and go nowhere else.
"""

import contextlib
import email.utils
import functools
import hashlib
import itertools
import logging
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    IncompleteReadError,
    SSLError,
)

from loudr_core.errors import ConfigError, StoreError, StoreUnavailable
from loudr_core.store.address import S3Address
from loudr_core.store.local import check_key
from loudr_core.store.protocol import StoredObject
from loudr_core.store.s3_answers import MISSING, is_passing, refusal, unanswered, unusable
from loudr_core.store.s3_parts import content_md5, send_parts

__all__ = ["S3Store"]

_ATTEMPTS = 4
_PATIENCE_S = 120.0
_LONGEST_PAUSE_S = 10.0
_CONNECT_S = 10.0
_READ_S = 60.0
_CONNECTIONS = 32
_LANES = 16
_PART_BYTES = 16 << 20
_CONFLICTS = 8
_BODIES = 4
_FIRST_CONNECT_S = 5.0
_FIRST_READ_S = 20.0
_SILENT = 2
"""Tries of a call beyond the client's own of which nothing is said."""
_SHA256 = "loudr-sha256"
_WRITER = "loudr-writer"
_TYPES = {".m4b": "audio/mp4", ".html": "text/html; charset=utf-8", ".json": "application/json"}


_log = logging.getLogger(__name__)


class S3Store:
    """Objects below a prefix of a bucket. Safe to share between threads.

    Parameters
    ----------
    bucket : str
    prefix : str
        Without slashes at its ends; empty for the whole bucket.
    endpoint_url : str, optional
        Of another service than Amazon's; `AWS_ENDPOINT_URL_S3` and the AWS configuration otherwise.
    region : str, optional
        What the AWS configuration says otherwise.
    attempts : int
        Times that the client makes a call, within seconds.
    patience_s : float
        How long the store goes on after that until the server counts as unavailable.
    part_bytes : int
        Files longer than this go up in parts of this size; 5 MiB at least.

    Raises
    ------
    ConfigError
        The AWS configuration or the endpoint makes no sense. The bucket is not asked for; `check`
        does that.
    """

    lanes = _LANES
    """Calls that go well side by side: most of the time of each is waiting."""

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
        attempts: int = _ATTEMPTS,
        patience_s: float = _PATIENCE_S,
        part_bytes: int = _PART_BYTES,
    ) -> None:
        self._address = S3Address(
            bucket=bucket, prefix=prefix, endpoint_url=endpoint_url, region=region
        )
        self.url = self._address.url
        self._bucket = bucket
        self._start = f"{prefix}/" if prefix else ""
        self._part_bytes = part_bytes
        self._patience_s = patience_s
        self._client = _client(endpoint_url, region, attempts, _CONNECT_S, _READ_S)

    def __repr__(self) -> str:
        return f"S3Store({self.url!r})"

    def check(self) -> None:
        """Ask the bucket once, without much patience, so that a wrong one is known at the start.

        Raises
        ------
        StoreError, StoreUnavailable
            It is not there, not ours to list, or does not answer.
        """
        client = _client(
            self._address.endpoint_url,
            self._address.region,
            _ATTEMPTS,
            _FIRST_CONNECT_S,
            _FIRST_READ_S,
        )
        with self._asking("open", ""):
            client.list_objects_v2(Bucket=self._bucket, Prefix=self._start, MaxKeys=1)

    def get(self, key: str) -> bytes | None:
        """Return the object, or None when there is none."""
        name = self._name(key)
        with self._asking("read", key):
            for attempt in itertools.count():
                try:
                    body = self._call("get_object", Key=name)["Body"]
                except ClientError as error:
                    if _code(error) in MISSING:
                        return None
                    raise
                try:
                    return bytes(body.read())
                except (IncompleteReadError, HTTPClientError):
                    # The client tries requests again, but not a body that breaks off.
                    if attempt == _BODIES - 1:
                        raise
                    time.sleep(_pause_s(attempt))
        return None

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole, in place of what was there."""
        with self._asking("write", key):
            self._put(key, data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write the object unless one is there; say whether it was written.

        A writer that must know that an object is its own even after it was started anew puts a
        token of its own into the bytes, and reads them back when this says False.
        """
        token = uuid.uuid4().hex
        with self._asking("write", key):
            for attempt in range(_CONFLICTS):
                try:
                    self._put(key, data, IfNoneMatch="*", Metadata={_WRITER: token})
                except ClientError as error:
                    if _status(error) == 412:
                        there = self._head(key)
                        if there is not None:
                            return bool(there["Metadata"].get(_WRITER) == token)
                        # It was deleted in between: try again.
                    elif _status(error) != 409 or attempt == _CONFLICTS - 1:
                        raise
                    time.sleep(_pause_s(attempt))  # another write of the key is under way
                else:
                    return True
        raise StoreUnavailable(
            f"cannot write {self._place(key)}: it comes and goes; run again", bucket=self._bucket
        )

    def put_file(self, key: str, path: Path, *, labels: Mapping[str, str] | None = None) -> None:
        """Write a file's bytes as the object, without holding them in memory.

        A long file goes up in parts and appears under its key when the last one is in. The
        object's metadata holds the SHA-256 of the file; when the object is there with the same
        size and SHA-256, nothing is sent. After the upload both are read back.

        Parameters
        ----------
        labels : mapping of str to str, optional
            Words about the object, in ASCII, kept in its metadata: `labels` gives them back.

        Raises
        ------
        StoreError
            The file cannot be read, or changes while it is sent; what the server refuses.
        """
        with self._asking("write", key):
            try:
                size = path.stat().st_size
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                if self._holds(key, size, digest):
                    return
                extra: dict[str, Any] = {"Metadata": {**(labels or {}), _SHA256: digest}}
                if path.suffix in _TYPES:
                    extra["ContentType"] = _TYPES[path.suffix]
                if size <= self._part_bytes:
                    self._put(key, path.read_bytes(), **extra)
                else:
                    self._put_parts(key, path, size, digest, extra)
            except OSError as error:
                if isinstance(error, BotoCoreError):  # some of them are both
                    raise
                raise StoreError(
                    f"cannot read {path}: {error.strerror or error}", path=str(path)
                ) from error
            if not self._holds(key, size, digest):
                raise StoreUnavailable(
                    f"{self._place(key)} is not what was sent there: another program writes it, "
                    "or the server lost its metadata; run again",
                    bucket=self._bucket,
                )

    def labels(self, key: str) -> Mapping[str, str] | None:
        """Return the labels of an object, None when there is no object."""
        with self._asking("look for", key):
            there = self._head(key)
        if there is None:
            return None
        return {name: value for name, value in there["Metadata"].items() if name != _SHA256}

    def exists(self, key: str) -> bool:
        """Say whether there is an object."""
        with self._asking("look for", key):
            return self._head(key) is not None

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        name = self._name(key)
        with self._asking("delete", key):
            self._call("delete_object", Key=name)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield every key that starts with `prefix`, in ascending order."""
        for entry in self.entries(prefix):
            yield entry.key

    def entries(self, prefix: str) -> Iterator[StoredObject]:
        """Yield what `list` does with size, version and time; a thousand for each request."""
        folder = prefix.rpartition("/")[0]
        if folder:
            check_key(folder)
        asked: dict[str, Any] = {"Prefix": self._start + prefix}
        while True:
            with self._asking("list", prefix):
                page = self._call("list_objects_v2", **asked)
            for item in page.get("Contents", ()):
                # Consoles make empty objects whose name ends in a slash, to show as folders.
                if not item["Key"].endswith("/"):
                    yield StoredObject(
                        key=item["Key"].removeprefix(self._start),
                        size=item["Size"],
                        version=item["ETag"].strip('"'),
                        modified_s=item["LastModified"].timestamp(),
                    )
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def now_s(self) -> float:
        """Return the time that the server puts on its answers."""
        with self._asking("list", ""):
            answer = self._call("list_objects_v2", Prefix=self._start, MaxKeys=1)
        headers = answer["ResponseMetadata"]["HTTPHeaders"]
        try:
            return email.utils.parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, ValueError):
            raise StoreError(
                f"{self._place('')} does not say what time it is: its answers have no Date",
                bucket=self._bucket,
            ) from None

    def _name(self, key: str) -> str:
        return self._start + check_key(key)

    def _place(self, key: str) -> str:
        return f"{self._address.place}/{key}" if key else self._address.place

    def _put(self, key: str, data: bytes, **extra: Any) -> None:
        md5 = content_md5(data)
        self._call("put_object", Key=self._name(key), Body=data, ContentMD5=md5, **extra)

    def _call(self, operation: str, **asked: Any) -> Any:
        """Make a call, and again for as long as the server is unavailable and patience lasts."""
        call = getattr(self._client, operation)
        until = None
        for attempt in itertools.count():
            try:
                return call(Bucket=self._bucket, **asked)
            except (ClientError, ConnectionError, HTTPClientError) as error:
                if not _is_passing(error):
                    raise
                now = time.monotonic()
                until = until or now + self._patience_s
                if now + _pause_s(attempt) > until:
                    raise
                if attempt == _SILENT:
                    said = _code(error) if isinstance(error, ClientError) else type(error).__name__
                    _log.warning(
                        "bucket %s does not answer (%s); trying for %.0f s more",
                        self._bucket,
                        said,
                        until - now,
                    )
                time.sleep(_pause_s(attempt))
        return None

    def _head(self, key: str) -> dict[str, Any] | None:
        name = self._name(key)
        try:
            answer: dict[str, Any] = self._call("head_object", Key=name)
        except ClientError as error:
            if _code(error) in MISSING:
                return None
            if _status(error) in (400, 403):  # an answer to HEAD has no body that says why
                self._call("get_object", Key=name)["Body"].close()
            raise
        return answer

    def _holds(self, key: str, size: int, digest: str) -> bool:
        there = self._head(key)
        return there is not None and (
            there["ContentLength"] == size and there["Metadata"].get(_SHA256) == digest
        )

    def _put_parts(
        self, key: str, path: Path, size: int, digest: str, extra: dict[str, Any]
    ) -> None:
        target = {"Key": self._name(key)}
        target["UploadId"] = self._call("create_multipart_upload", **target, **extra)["UploadId"]
        try:
            parts = send_parts(
                lambda **part: str(self._call("upload_part", **target, **part)["ETag"]),
                path,
                part_bytes=self._part_bytes,
                size=size,
                digest=digest,
            )
            try:
                self._call("complete_multipart_upload", **target, MultipartUpload={"Parts": parts})
            except ClientError as error:
                # After a lost reply the upload is gone since it is complete; `put_file` looks.
                if _code(error) != "NoSuchUpload":
                    raise
        except BaseException:
            with contextlib.suppress(ClientError, BotoCoreError):
                self._client.abort_multipart_upload(Bucket=self._bucket, **target)
            raise

    @contextlib.contextmanager
    def _asking(self, action: str, key: str) -> Iterator[None]:
        said = {"action": action, "place": self._place(key), "bucket": self._bucket}
        try:
            yield
        except ClientError as error:
            raise refusal(_code(error), _status(error), **said) from error
        except SSLError as error:
            raise unusable(type(error).__name__, **said) from error
        except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
            raise unanswered(type(error).__name__, **said) from error
        except BotoCoreError as error:
            raise unusable(type(error).__name__, **said) from error


_making = threading.Lock()


def _client(
    endpoint_url: str | None, region: str | None, attempts: int, connect_s: float, read_s: float
) -> Any:
    """Return the one client of this process for such calls; making one takes a third of a second.

    A session is not safe to share between threads while it makes clients; a client is.
    """
    with _making:
        return _made(endpoint_url, region, attempts, connect_s, read_s)


@functools.lru_cache(maxsize=16)
def _made(
    endpoint_url: str | None, region: str | None, attempts: int, connect_s: float, read_s: float
) -> Any:
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=connect_s,
        read_timeout=read_s,
        max_pool_connections=_CONNECTIONS,
        tcp_keepalive=True,
        # Content-MD5 goes with every write instead, which servers other than Amazon's know too.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        client = boto3.session.Session().client(
            "s3", endpoint_url=endpoint_url, region_name=region, config=config
        )
    except (BotoCoreError, ValueError) as error:
        reason = re.sub(r"[^/@\s]+@", "***@", " ".join(str(error).split()))
        raise ConfigError(f"the AWS configuration cannot be used: {reason}") from error
    client.meta.events.register_last("before-call.s3", _without_waiting)
    return client


def _without_waiting(params: dict[str, Any], **_: object) -> None:
    """Send a body with its headers, and not after a round trip in which the server agrees to it."""
    params["headers"].pop("Expect", None)


def _is_passing(error: Exception) -> bool:
    if isinstance(error, ClientError):
        return is_passing(_code(error), _status(error))
    return not isinstance(error, SSLError)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code") or _status(error))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _pause_s(attempt: int) -> float:
    return min(0.25 * float(2 ** min(attempt, 10)), _LONGEST_PAUSE_S)
