"""What an s3:// URL may say, and that it never holds a secret."""

import pytest

from loudr_core.errors import ConfigError
from loudr_core.store.address import object_url, parse_s3_url


@pytest.mark.parametrize(
    ("url", "bucket", "prefix", "endpoint", "region"),
    [
        ("s3://books", "books", "", None, None),
        ("s3://books/", "books", "", None, None),
        ("s3://books/a/b/", "books", "a/b", None, None),
        ("s3://my.books-1/ü", "my.books-1", "ü", None, None),
        ("s3://b-1/a?region=eu-central-1", "b-1", "a", None, "eu-central-1"),
        ("s3://b-1?endpoint=http://127.0.0.1:9000/", "b-1", "", "http://127.0.0.1:9000", None),
        ("s3://b-1/a#1?endpoint=https%3A%2F%2Fs3.x&region=r", "b-1", "a#1", "https://s3.x", "r"),
    ],
)
def test_what_a_url_says(
    url: str, bucket: str, prefix: str, endpoint: str | None, region: str | None
) -> None:
    address = parse_s3_url(url)
    assert (address.bucket, address.prefix) == (bucket, prefix)
    assert (address.endpoint_url, address.region) == (endpoint, region)
    assert parse_s3_url(address.url) == address
    assert "?" not in address.place


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://AKIA:hush@books/a", "does not hold credentials"),
        ("s3://hush@books", "does not hold credentials"),
        ("s3://books?endpoint=https://me:hush@s3.example.org", "does not hold credentials"),
        ("s3://books?endpoint=https://hush@s3.example.org", "does not hold credentials"),
        ("s3://books?aws_secret_access_key=hush", "'aws_secret_access_key'"),
        ("s3://books?secret=hush&endpoint=http://x", "'secret'"),
        ("s3://", "'' is no bucket name"),
        ("s3:///a", "'' is no bucket name"),
        ("s3://a", "'a' is no bucket name"),
        ("s3://localhost:9000/books", "AWS_ENDPOINT_URL_S3"),
        ("s3://books/a//b", "'a//b' is no prefix"),
        ("s3://books/../b", "'../b' is no prefix"),
        ("s3://books?endpoint=localhost:9000", "no http:// or https:// URL"),
        ("s3://books?endpoint=ftp://x", "no http:// or https:// URL"),
        ("/a/folder", "'' is no bucket name"),
    ],
)
def test_what_it_may_not_say(url: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_s3_url(url)
    assert words in caught.value.message
    assert "hush" not in caught.value.message + repr(caught.value.context)
    assert "\n" not in caught.value.message


def test_where_an_object_is() -> None:
    url = "s3://books/a?endpoint=http://127.0.0.1:9000"
    assert object_url(url, "out/Tones.m4b") == "s3://books/a/out/Tones.m4b"
    assert object_url("/var/store", "out/Tones.m4b") == "/var/store/out/Tones.m4b"
