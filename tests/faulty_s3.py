"""A proxy before an S3 server that is slow, refuses, or loses the reply to what was done.

A test says which requests get which fault; all of them are counted.
"""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ["FaultyS3"]

Rule = Callable[[str, str, int], str]
_REFUSALS = {
    "refuse": (503, "SlowDown", "Please reduce your request rate."),
    "expired": (403, "ExpiredToken", "The provided token has expired."),
    "full": (403, "QuotaExceeded", "The quota of the bucket is exceeded."),
}


class FaultyS3:
    """A proxy on a port of its own.

    Parameters
    ----------
    server : str
        URL of the S3 server.
    rule : callable (method, path, count) -> str
        Names the fault of a request: "" for none; "refuse", "expired" or "full" for a no without
        asking the server, which is busy, knows the caller no more, or has no room; "cut" for a
        connection that ends after the server has answered, "half" for one that ends in the middle
        of the answer's body. `count` is the number of requests before it that had the same method
        and path.
    latency_s : float
        Time that each request takes more.
    """

    def __init__(self, server: str, rule: Rule | None = None, *, latency_s: float = 0.0) -> None:
        self.faults: Counter[str] = Counter()
        self.requests: Counter[tuple[str, str]] = Counter()
        self.stored: Counter[tuple[str, str]] = Counter()
        """Of the requests, those that the server itself carried out."""
        self._rule = rule or (lambda method, path, count: "")
        self._latency_s = latency_s
        self._to = urlsplit(server).netloc
        self._guard = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(60)

    def fault_of(self, method: str, path: str) -> str:
        """Count a request and return its fault."""
        with self._guard:
            count = self.requests[method, path]
            self.requests[method, path] += 1
            fault = self._rule(method, path, count)
            self.faults[fault] += 1
        time.sleep(self._latency_s)
        return fault

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def pass_on(self) -> None:
                proxy.serve(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler

    def serve(self, asked: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        fault = self.fault_of(asked.command, urlsplit(asked.path).path)
        if fault in _REFUSALS:
            status, code, message = _REFUSALS[fault]
            said = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
            _reply(asked, status, [], f'<?xml version="1.0" encoding="UTF-8"?>{said}'.encode())
            return
        connection = http.client.HTTPConnection(self._to, timeout=60)
        try:
            connection.putrequest(
                asked.command, asked.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in asked.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
            with self._guard:
                self.stored[asked.command, urlsplit(asked.path).path] += answer.status < 300
            if fault == "cut":
                asked.close_connection = True
                return
            headers = [(n, v) for n, v in answer.getheaders() if n.lower() not in _HOP]
            length = int(answer.getheader("Content-Length") or len(data))
            asked.close_connection = fault == "half"
            part = data[: len(data) // 2] if fault == "half" else data
            _reply(asked, answer.status, headers, part, length=length)
        finally:
            connection.close()


_HOP = {"connection", "transfer-encoding", "content-length", "server", "date"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that was killed is part of the test."""


def _reply(
    asked: BaseHTTPRequestHandler,
    status: int,
    headers: list[tuple[str, str]],
    data: bytes,
    *,
    length: int | None = None,
) -> None:
    asked.send_response(status)
    for name, value in headers:
        asked.send_header(name, value)
    asked.send_header("Content-Length", str(len(data) if length is None else length))
    asked.end_headers()
    if asked.command != "HEAD":
        asked.wfile.write(data)


def at_random(share: float, fault: str, *, seed: int = 7) -> Rule:
    """Return a rule that gives a share of all requests a fault."""
    chance = random.Random(seed)
    return lambda method, path, count: fault if chance.random() < share else ""
