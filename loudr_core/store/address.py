"""Where a store in a bucket is: `s3://bucket/prefix`, and an endpoint if it is not Amazon's.

    s3://audiobooks
    s3://audiobooks/loudr/prod
    s3://audiobooks/loudr?endpoint=https://s3.example.org&region=eu-central-1

Credentials never stand in it: a URL ends up in logs, tables and other people's screenshots. They
come through the usual chain of the AWS tools, and so may endpoint and region.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

from loudr_core.errors import ConfigError

__all__ = ["S3Address", "object_url", "parse_s3_url"]

_SCHEME = "s3://"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_CHAIN = (
    "credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, an AWS profile or the "
    "machine's role"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Address:
    """A prefix in a bucket.

    Parameters
    ----------
    bucket : str
    prefix : str
        Without a slash at either end; empty for the whole bucket.
    endpoint_url : str, optional
        Of the S3 service; what the AWS configuration says, or Amazon, when None.
    region : str, optional
        What the AWS configuration says when None.
    """

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None

    @property
    def url(self) -> str:
        """The URL that opens the same store again."""
        query = "&".join(
            f"{name}={quote(value, safe=':/')}"
            for name, value in (("endpoint", self.endpoint_url), ("region", self.region))
            if value
        )
        return self.place + (f"?{query}" if query else "")

    @property
    def place(self) -> str:
        """The URL for people and for other tools: without endpoint and region."""
        return _SCHEME + self.bucket + (f"/{self.prefix}" if self.prefix else "")


def parse_s3_url(url: str) -> S3Address:
    """Return what an `s3://` URL says.

    Raises
    ------
    ConfigError
        It is not such a URL, or holds credentials, which are not repeated in the message.
    """
    rest, _, query = url.removeprefix(_SCHEME).partition("?")
    bucket, _, prefix = rest.partition("/")
    if "@" in bucket:
        raise ConfigError(f"an s3:// URL does not hold credentials: {_CHAIN}")
    if not url.startswith(_SCHEME) or not _BUCKET.fullmatch(bucket):
        raise ConfigError(
            f"{bucket!r} is no bucket name: a store is s3://bucket/prefix, and the server's own "
            "address goes to AWS_ENDPOINT_URL_S3 or ?endpoint="
        )
    prefix = prefix.strip("/")
    if prefix and any(part in ("", ".", "..") for part in prefix.split("/")):
        raise ConfigError(f"{prefix!r} is no prefix in bucket {bucket}: empty or dotted parts")
    options = _options(query)
    return S3Address(
        bucket=bucket,
        prefix=prefix,
        endpoint_url=_endpoint(options.get("endpoint")),
        region=options.get("region"),
    )


def object_url(store_url: str, key: str) -> str:
    """Return where an object of a store is, for people: a path or an `s3://` URL."""
    place = parse_s3_url(store_url).place if store_url.startswith(_SCHEME) else store_url
    return f"{place}/{key}"


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - {"endpoint", "region"})
    if unknown:  # named without its value, which may be a secret
        raise ConfigError(
            f"an s3:// URL takes endpoint and region, not {unknown[0]!r}; {_CHAIN}",
            option=unknown[0],
        )
    return options


def _endpoint(text: str | None) -> str | None:
    if not text:
        return None
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ConfigError(f"the endpoint of an s3:// URL does not hold credentials: {_CHAIN}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(
            f"endpoint {text!r} of the store is no http:// or https:// URL", endpoint=text
        )
    return text.rstrip("/")
