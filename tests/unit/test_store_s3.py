"""The store in a bucket when the network or the server fails, and what it says then."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3.session
import pytest

from loudr_core.errors import ConfigError, LoudrError, StoreError, StoreUnavailable
from loudr_core.store.open import open_store
from loudr_core.store.s3 import S3Store

MIB = 2**20
Starter = Callable[..., Any]
attempts = iter(range(100, 10_000))
"""A client is kept for each number of attempts; a test that needs a new one takes another."""


def on(method: str, ending: str, fault: str, *counts: int) -> Callable[[str, str, int], str]:
    """Return a rule for the requests of one kind whose number is among `counts`."""
    return lambda asked, path, count: (
        fault if (asked, count in counts) == (method, True) and path.endswith(ending) else ""
    )


def put_count(proxy: Any, ending: str) -> int:
    return sum(n for (m, path), n in proxy.requests.items() if m == "PUT" and path.endswith(ending))


# --- replies that are lost


def test_a_claim_whose_reply_is_lost_is_ours(bucket: str, faulty_s3: Starter) -> None:
    """The second try is told that the object is there; it is the first try's."""
    proxy = faulty_s3(on("PUT", "/claim", "cut", 0))
    store = S3Store(bucket, "p", endpoint_url=proxy.url)
    assert store.put_if_absent("claim", b"mine")
    assert proxy.faults["cut"] == 1
    assert put_count(proxy, "/claim") == 2
    assert not store.put_if_absent("claim", b"mine")
    assert store.get("claim") == b"mine"


def test_a_claim_of_another_is_not_ours_whatever_is_lost(bucket: str, faulty_s3: Starter) -> None:
    open_store(f"s3://{bucket}/p").put_if_absent("claim", b"theirs")
    proxy = faulty_s3(on("PUT", "/claim", "cut", 0, 1))
    store = S3Store(bucket, "p", endpoint_url=proxy.url)
    assert not store.put_if_absent("claim", b"theirs")
    assert put_count(proxy, "/claim") == 3


def test_of_two_claims_whose_replies_are_lost_one_is_ours(bucket: str, faulty_s3: Starter) -> None:
    proxy = faulty_s3(lambda method, path, count: "cut" if method == "PUT" and count < 2 else "")
    store = S3Store(bucket, endpoint_url=proxy.url)
    won: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: won.append(store.put_if_absent("claim", b"same")), daemon=True
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(won) == [False, True]


def test_an_answer_that_breaks_off_is_asked_for_again(bucket: str, faulty_s3: Starter) -> None:
    proxy = faulty_s3(on("GET", "/take", "half", 0, 1))
    store = S3Store(bucket, endpoint_url=proxy.url)
    store.put("take", bytes(range(256)) * 4000)
    assert store.get("take") == bytes(range(256)) * 4000
    assert proxy.faults["half"] == 2


def test_an_answer_that_always_breaks_off_is_an_outage(bucket: str, faulty_s3: Starter) -> None:
    proxy = faulty_s3(on("GET", "/take", "half", *range(99)))
    store = S3Store(bucket, endpoint_url=proxy.url)
    store.put("take", b"12345678")
    with pytest.raises(StoreUnavailable, match=r"cannot read s3://.*/take: no answer"):
        store.get("take")
    assert proxy.faults["half"] == 4


# --- files


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Return a file of five parts, the last one short."""
    path = tmp_path / "Book.m4b"
    path.write_bytes(os.urandom(21 * MIB + 5))
    return path


def head(bucket: str, key: str) -> dict[str, Any]:
    client = boto3.session.Session().client("s3")
    found: dict[str, Any] = client.head_object(Bucket=bucket, Key=key)
    uploads = client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    client.close()
    assert uploads == [], "an upload was left half done"
    return found


def test_a_long_file_goes_up_in_parts_through_faults(
    bucket: str, faulty_s3: Starter, film: Path
) -> None:
    """A part is refused, another's reply is lost, and so is the reply to the last call."""

    def rule(method: str, path: str, count: int) -> str:
        if method == "PUT":
            return {1: "refuse", 3: "cut"}.get(count, "")
        return "cut" if method == "POST" and count == 1 else ""

    proxy = faulty_s3(rule)
    store = S3Store(bucket, "out", endpoint_url=proxy.url, part_bytes=5 * MIB)
    store.put_file("Book.m4b", film)
    assert (proxy.faults["refuse"], proxy.faults["cut"]) == (1, 2)
    assert store.get("Book.m4b") == film.read_bytes()
    there = head(bucket, "out/Book.m4b")
    assert there["ContentType"] == "audio/mp4"
    assert len(there["Metadata"]["loudr-sha256"]) == 64


@pytest.mark.parametrize("part_bytes", [5 * MIB, 64 * MIB])
def test_the_same_file_is_not_sent_twice(
    bucket: str, faulty_s3: Starter, film: Path, part_bytes: int
) -> None:
    proxy = faulty_s3()
    store = S3Store(bucket, endpoint_url=proxy.url, part_bytes=part_bytes)
    store.put_file("Book.m4b", film)
    sent = put_count(proxy, "")
    before = head(bucket, "Book.m4b")["LastModified"]
    store.put_file("Book.m4b", film)
    assert put_count(proxy, "") == sent
    assert head(bucket, "Book.m4b")["LastModified"] == before
    film.write_bytes(b"another")
    store.put_file("Book.m4b", film)
    assert store.get("Book.m4b") == b"another"


def test_an_upload_that_fails_leaves_what_was_there(
    bucket: str, faulty_s3: Starter, film: Path
) -> None:
    whole = open_store(f"s3://{bucket}")
    whole.put("Book.m4b", b"the old one")
    proxy = faulty_s3(on("PUT", "/Book.m4b", "refuse", *range(2, 99)))
    store = S3Store(bucket, endpoint_url=proxy.url, part_bytes=5 * MIB, attempts=2, patience_s=0)
    with pytest.raises(StoreUnavailable, match="SlowDown"):
        store.put_file("Book.m4b", film)
    assert whole.get("Book.m4b") == b"the old one"
    assert head(bucket, "Book.m4b")["ContentLength"] == 11


def test_a_file_that_changes_while_it_is_sent_is_not_delivered(
    bucket: str, faulty_s3: Starter, film: Path
) -> None:
    def rule(method: str, path: str, count: int) -> str:
        if method == "POST" and count == 0:
            with film.open("r+b") as file:
                file.seek(20 * MIB)
                file.write(b"changed")
        return ""

    store = S3Store(bucket, endpoint_url=faulty_s3(rule).url, part_bytes=5 * MIB)
    with pytest.raises(StoreError, match=r"Book\.m4b changed while it was sent"):
        store.put_file("Book.m4b", film)
    assert open_store(f"s3://{bucket}").get("Book.m4b") is None


def test_a_file_that_is_not_there_is_named(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*nothing\.m4b: No such file"):
        open_store(f"s3://{bucket}").put_file("x", tmp_path / "nothing.m4b")


# --- servers that say no

ANSWERS = [
    (403, "AccessDenied", StoreError, "access to bucket books is denied"),
    (404, "NoSuchBucket", StoreError, "there is no bucket books"),
    (400, "ExpiredToken", StoreError, "have expired"),
    (403, "InvalidAccessKeyId", StoreError, "does not know the credentials"),
    (403, "SignatureDoesNotMatch", StoreError, "does not know the credentials"),
    (403, "RequestTimeTooSkewed", StoreError, "clock"),
    (403, "QuotaExceeded", StoreError, "bucket books is full"),
    (507, "XMinioStorageFull", StoreError, "bucket books is full"),
    (400, "EntityTooLarge", StoreError, "larger than"),
    (400, "AuthorizationHeaderMalformed", StoreError, "another region"),
    (501, "NotImplemented", StoreError, "cannot do that"),
    (418, "Teapot", StoreError, "the server says "),
    (503, "SlowDown", StoreUnavailable, "busy or failing"),
    (500, "InternalError", StoreUnavailable, "busy or failing"),
    (429, "TooManyRequests", StoreUnavailable, "busy or failing"),
    (400, "RequestTimeout", StoreUnavailable, "busy or failing"),
]
CALLS: dict[str, Callable[[S3Store], Any]] = {
    "get": lambda store: store.get("key"),
    "put": lambda store: store.put("key", b"x"),
    "put_if_absent": lambda store: store.put_if_absent("key", b"x"),
    "exists": lambda store: store.exists("key"),
    "delete": lambda store: store.delete("key"),
    "list": lambda store: list(store.list("")),
    "check": lambda store: store.check(),
}


@pytest.fixture(scope="module")
def naysayer() -> Iterator[Any]:
    """Return a server that gives one answer to everything; set its `status` and `code`."""

    class Handler(BaseHTTPRequestHandler):
        def say_no(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = (
                f"<Error><Code>{server.code}</Code><Message>no</Message>"
                "<AWSAccessKeyId>test</AWSAccessKeyId></Error>"
            ).encode()
            self.send_response(server.status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = say_no

        def log_message(self, format: str, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        status = 500
        code = ""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.mark.parametrize(("status", "code", "kind", "words"), ANSWERS)
def test_a_no_is_one_line_that_says_what_to_do(
    s3_environment: str,
    naysayer: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    status: int,
    code: str,
    kind: type[LoudrError],
    words: str,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    caplog.set_level(logging.INFO)
    naysayer.status, naysayer.code = status, code
    store = S3Store(
        "books", endpoint_url=f"http://127.0.0.1:{naysayer.server_port}", attempts=1, patience_s=0
    )
    for name, call in CALLS.items():
        if (name, status) == ("exists", 404):
            continue  # a bare 404 means the object; that there is no bucket, `check` has found out
        with pytest.raises(StoreError) as caught:
            call(store)
        error = caught.value
        assert type(error) is kind, name
        assert words in error.message, name
        said = str(status) if name == "exists" and status not in (400, 403) else code
        assert said in error.message, name
        assert "s3://books" in error.message
        assert "\n" not in error.message
        assert error.context == {"bucket": "books", "code": said}
        assert "testtesttest" not in f"{error.message}{error.context}{caplog.text}{store!r}"


def test_a_conflict_is_tried_again(bucket: str, naysayer: Any) -> None:
    """Amazon answers 409 to one of two claims made at the same time; it is to be made again."""
    naysayer.status, naysayer.code = 409, "ConditionalRequestConflict"

    class Hurried(S3Store):
        tries = 0

        def _put(self, key: str, data: bytes, **extra: Any) -> None:
            self.tries += 1
            if self.tries == 3:
                self._client = S3Store(bucket)._client
            super()._put(key, data, **extra)

    url = f"http://127.0.0.1:{naysayer.server_port}"
    store = Hurried(bucket, endpoint_url=url, attempts=1, patience_s=0)
    assert store.put_if_absent("claim", b"x")
    assert store.tries == 3


def test_a_server_that_is_not_there_is_an_outage(s3_environment: str) -> None:
    store = S3Store("books", endpoint_url="http://127.0.0.1:9", attempts=1, patience_s=0)
    with pytest.raises(StoreUnavailable, match=r"no answer from the server \(EndpointConnection"):
        store.get("key")


def test_the_first_call_of_a_command_is_not_patient(s3_environment: str) -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="check the network and the endpoint"):
        open_store("s3://books?endpoint=http://127.0.0.1:9")
    assert time.monotonic() - started < 10.0


def test_a_busy_server_is_asked_a_bounded_number_of_times(bucket: str, faulty_s3: Starter) -> None:
    proxy = faulty_s3(on("PUT", "/key", "refuse", *range(99)))
    store = S3Store(bucket, endpoint_url=proxy.url, attempts=3, patience_s=0)
    with pytest.raises(StoreUnavailable, match="SlowDown"):
        store.put("key", b"x")
    assert put_count(proxy, "/key") == 3


# --- credentials and configuration


def test_without_credentials_there_is_one_line(
    s3_environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    store = S3Store("books", attempts=next(attempts))
    with pytest.raises(StoreError, match=r"no usable credentials \(NoCredentialsError\)") as caught:
        store.get("key")
    assert not caught.value.retryable


def test_half_of_the_credentials_are_none(
    s3_environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(LoudrError, match=r"PartialCredentialsError|[Pp]artial credentials"):
        S3Store("books", attempts=next(attempts)).get("key")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("AWS_PROFILE", "nobody", "profile \\(nobody\\) could not be found"),
        ("AWS_ENDPOINT_URL_S3", "nowhere", "Invalid endpoint: nowhere"),
        ("AWS_ENDPOINT_URL_S3", "me:hush@nowhere", "Invalid endpoint"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_one_line(
    s3_environment: str, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=words) as caught:
        S3Store("books", attempts=next(attempts)).check()
    assert "hush" not in caught.value.message
    assert "\n" not in caught.value.message


def test_one_client_serves_every_store_of_a_process(bucket: str, faults: ModuleType) -> None:
    """Making one takes a third of a second; a thread may use another's."""
    one, two = S3Store(bucket, "a"), S3Store(bucket, "b")
    assert one._client is two._client
    assert one._client.meta.config.max_pool_connections >= one.lanes


def test_what_consoles_show_as_a_folder_is_no_object(bucket: str) -> None:
    client = boto3.session.Session().client("s3")
    client.put_object(Bucket=bucket, Key="p/drop/", Body=b"")
    client.put_object(Bucket=bucket, Key="p/drop/book.epub", Body=b"x")
    client.close()
    assert list(open_store(f"s3://{bucket}/p").list("")) == ["drop/book.epub"]


# --- outages


def test_a_server_that_is_away_for_a_while_is_waited_for(
    bucket: str, faulty_s3: Starter, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """The client alone gives up within seconds; the store goes on, and says so once a call."""
    monkeypatch.setattr("loudr_core.store.s3._pause_s", lambda attempt: 0.01)
    proxy = faulty_s3(lambda method, path, count: "refuse" if count < 6 else "")
    store = S3Store(bucket, "p", endpoint_url=proxy.url, attempts=1, patience_s=30)
    with caplog.at_level(logging.WARNING, "loudr_core"):
        assert store.put_if_absent("key", b"x")
        assert store.get("key") == b"x"
    said = [record.getMessage() for record in caplog.records if "does not answer" in record.msg]
    assert len(said) == 2, "once for each call"
    assert f"bucket {bucket} does not answer (SlowDown)" in said[0]


def test_patience_has_an_end(bucket: str, faulty_s3: Starter) -> None:
    proxy = faulty_s3(on("PUT", "/key", "refuse", *range(9999)))
    store = S3Store(bucket, endpoint_url=proxy.url, attempts=1, patience_s=0.6)
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="SlowDown"):
        store.put("key", b"x")
    assert 0.2 < time.monotonic() - started < 5.0
    assert put_count(proxy, "/key") >= 2


def test_a_refusal_is_not_tried_again(s3_environment: str, naysayer: Any) -> None:
    naysayer.status, naysayer.code = 403, "AccessDenied"
    url = f"http://127.0.0.1:{naysayer.server_port}"
    store = S3Store("books", endpoint_url=url, attempts=1, patience_s=600)
    with pytest.raises(StoreError, match="denied"):
        store.put("key", b"x")
