"""Numbers for Prometheus: what the renders of this process come to, at a port of its own.

Off unless `metrics_port` is set. A scrape reads the counts that the renders keep anyway, so nothing
is counted twice and a render does no work for it. Counters are those of the process and begin at 0
with it, as Prometheus expects; truth over nights is in the store and the events.

The only importer of prometheus-client, which the extra `metrics` brings.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from loudr_core.errors import ConfigError, Interrupted, LoudrError

if TYPE_CHECKING:  # a second of imports; engine processes are started before it
    from loudr_core.render.book import BookRender
    from loudr_core.render.progress import Counts, Progress

__all__ = [
    "Observed",
    "RenderMetrics",
    "count_book",
    "count_finding",
    "counting",
    "observe",
    "serve",
]

logger = logging.getLogger(__name__)


class Observed(Protocol):
    """What is counted: the render of a book, or a shard of one."""

    @property
    def label(self) -> str:
        """What people know it by."""
        ...

    @property
    def progress(self) -> Progress:
        """Its counts."""
        ...


@dataclass(slots=True)
class _Watched:
    label: str
    progress: Progress
    render: weakref.ref[Observed]
    ended: bool = False

    @property
    def runs(self) -> bool:
        return not self.ended and self.render() is not None


class RenderMetrics:
    """What Prometheus asks for, over every render that was ever observed in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[_Watched] = []
        self._books: Counter[tuple[str, str]] = Counter()
        self._findings: Counter[str] = Counter()

    def observe(self, render: Observed) -> None:
        """Count a render from now on; its numbers stay when it is over."""
        with self._lock:
            self._watched.append(_Watched(render.label, render.progress, weakref.ref(render)))

    def end(self, render: BookRender, outcome: str, code: str = "") -> None:
        """Count a book, and its render as over.

        Parameters
        ----------
        outcome : {"done", "failed", "stopped"}
        code : str
            Kind of the error, such as `BookError`.
        """
        with self._lock:
            self._books[outcome, code] += 1
            for watched in self._watched:
                if watched.render() is render:
                    watched.ended = True

    def condemn(self, code: str) -> None:
        """Count a condemned segment by what is worst about it."""
        with self._lock:
            self._findings[code] += 1

    def collect(self) -> Iterator[Any]:
        """Yield the metric families of this moment; what a registry of prometheus-client calls."""
        with self._lock:
            watched = list(self._watched)
            books, findings = Counter(self._books), Counter(self._findings)
        now = [(each, each.progress.now()) for each in watched]
        yield from _totals([counts for _, counts in now])
        yield from _outcomes(books, findings)
        yield from _running([(each.label, counts) for each, counts in now if each.runs])


_metrics = RenderMetrics()
_servers: dict[tuple[str, int], Any] = {}
_serving = threading.Lock()


def observe(render: Observed, *, host: str, port: int | None) -> None:
    """Count a render, and serve the numbers when a port is set.

    Raises
    ------
    ConfigError
        A port is set, and prometheus-client is not installed.
    """
    _metrics.observe(render)
    if port is not None:
        serve(host, port)


def count_book(render: BookRender, outcome: str, code: str = "") -> None:
    """Count a book that is over: `RenderMetrics.end`."""
    _metrics.end(render, outcome, code)


@contextmanager
def counting(render: BookRender) -> Iterator[None]:
    """Count what becomes of a book while the block renders it."""
    try:
        yield
    except Interrupted:
        count_book(render, "stopped")
        raise
    except Exception as error:
        known = isinstance(error, LoudrError)
        count_book(render, "failed", type(error).__name__ if known else "bug")
        raise
    count_book(render, "done")


def count_finding(code: str) -> None:
    """Count a condemned segment: `RenderMetrics.condemn`."""
    _metrics.condemn(code)


def serve(host: str, port: int, metrics: RenderMetrics = _metrics) -> Any:
    """Answer scrapes at `http://host:port/metrics` until the process ends; once for each address.

    A port that is taken, as by another run on the machine, costs the numbers and not the render:
    it is logged.

    Returns
    -------
    The HTTP server, None when the port is taken.

    Raises
    ------
    ConfigError
        prometheus-client is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as error:
        raise ConfigError(
            "metrics_port is set, and prometheus-client is not installed: install loudr[metrics], "
            "or unset it",
            option="metrics_port",
        ) from error
    with _serving:
        if (host, port) in _servers:
            return _servers[host, port]
        registry = CollectorRegistry()
        registry.register(metrics)
        try:
            server, _ = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            logger.warning(
                "no metrics at %s:%d: %s; another run may have the port, see docs/OPERATIONS.md",
                host,
                port,
                error.strerror or error,
            )
            return None
        _servers[host, port] = server
        return server


def _totals(counts: list[Counts]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily

    segments = CounterMetricFamily(
        "loudr_segments",
        "Segments that need nothing more, by what became of them",
        labels=["status"],
    )
    for status in ("rendered", "reused", "failed"):
        segments.add_metric([status], sum(getattr(each, status) for each in counts))
    yield segments
    for name, said, field in (
        ("loudr_segments_suspect", "Segments whose best take has an error finding", "suspect"),
        ("loudr_takes_retried", "Takes beyond the first of a segment", "retried"),
        ("loudr_audio_seconds", "Seconds of audio made", "audio_s"),
        ("loudr_engine_seconds", "Seconds that engines worked", "compute_s"),
        ("loudr_speaking_seconds", "Wall seconds from the first order to the last take", "wall_s"),
    ):
        yield CounterMetricFamily(name, said, value=sum(getattr(each, field) for each in counts))


def _outcomes(books: Counter[tuple[str, str]], findings: Counter[str]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily

    ended = CounterMetricFamily(
        "loudr_books", "Books that are over, by what became of them", labels=["outcome", "code"]
    )
    for outcome in ("done", "failed", "stopped"):
        books.setdefault((outcome, ""), 0)
    for (outcome, code), count in sorted(books.items()):
        ended.add_metric([outcome, code], count)
    yield ended
    condemned = CounterMetricFamily(
        "loudr_segments_condemned", "Condemned segments by their worst finding", labels=["code"]
    )
    for code, count in sorted(findings.items()):
        condemned.add_metric([code], count)
    yield condemned


def _running(renders: list[tuple[str, Counts]]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    labels: Counter[str] = Counter()
    named: list[tuple[str, Counts]] = []
    for label, counts in renders:  # a sample of one name may be there only once
        labels[label] += 1
        named.append((label if labels[label] == 1 else f"{label} ({labels[label]})", counts))
    yield GaugeMetricFamily("loudr_renders_running", "Books under way", value=len(renders))
    gauges: tuple[tuple[str, str, Callable[[Counts], float]], ...] = (
        ("loudr_queue_segments", "Segments still to speak", lambda c: c.total - c.done),
        (
            "loudr_queue_audio_seconds",
            "Estimated seconds of audio to make",
            lambda c: c.audio_left_s,
        ),
        ("loudr_real_time_factor", "Wall seconds per second of audio so far", lambda c: c.rtf),
        ("loudr_eta_seconds", "Seconds until the last take at this pace", lambda c: c.eta_s),
    )
    for name, said, value in gauges:
        family = GaugeMetricFamily(name, said, labels=["book"])
        for label, counts in named:
            family.add_metric([label], value(counts))
        yield family
