"""Numbers for Prometheus, scraped as Prometheus does it."""

import builtins
import gc
import socket
import urllib.request
from collections.abc import Iterator
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from flows import metrics
from flows.configuration import Settings
from flows.metrics import RenderMetrics
from loudr_core.errors import ConfigError
from loudr_core.render.book import BookRender
from loudr_core.render.progress import Counts, Progress


class Render:
    """As much of a render as is observed."""

    def __init__(self, label: str, counts: Counts) -> None:
        self.label = label
        self.progress = Progress()
        self.progress._counts = counts


def observed(kept: RenderMetrics, label: str, counts: Counts) -> BookRender:
    render = cast(BookRender, Render(label, counts))
    kept.observe(render)
    return render


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def port() -> Iterator[int]:
    """Return a free port; what is served there ends with the test."""
    number = free_port()
    yield number
    server = metrics._servers.pop(("127.0.0.1", number), None)
    if server is not None:
        server.shutdown()
        server.server_close()


def scrape(port: int) -> dict[tuple[str, str], float]:
    """Return sample name and label values to the value."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        (sample.name, ",".join(filter(None, sorted(sample.labels.values())))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


RUNNING = Counts(
    total=100, rendered=30, reused=20, failed=1, suspect=2, retried=4,
    audio_s=600.0, compute_s=60.0, wall_s=120.0, audio_left_s=1200.0,
)  # fmt: skip


def test_a_scrape_sees_segments_audio_speed_queue_and_failures(port: int) -> None:
    kept = RenderMetrics()
    running = observed(kept, "harbour", RUNNING)
    ended = observed(kept, "ferry", Counts(total=10, rendered=10, audio_s=50.0, wall_s=10.0))
    kept.end(ended, "done")
    failed = observed(kept, "storm", Counts(total=5, rendered=1, failed=2, wall_s=1.0))
    kept.end(failed, "failed", "QualityError")
    kept.condemn("audio-clipping")
    assert metrics.serve("127.0.0.1", port, kept) is not None
    found = scrape(port)
    assert found["loudr_segments_total", "rendered"] == 41
    assert found["loudr_segments_total", "reused"] == 20
    assert found["loudr_segments_total", "failed"] == 3
    assert found["loudr_segments_suspect_total", ""] == 2
    assert found["loudr_takes_retried_total", ""] == 4
    assert found["loudr_audio_seconds_total", ""] == 650
    assert found["loudr_engine_seconds_total", ""] == 60
    assert found["loudr_books_total", "done"] == 1
    assert found["loudr_books_total", "QualityError,failed"] == 1
    assert found["loudr_books_total", "stopped"] == 0
    assert found["loudr_segments_condemned_total", "audio-clipping"] == 1
    assert found["loudr_renders_running", ""] == 1
    assert found["loudr_queue_segments", "harbour"] == 49
    assert found["loudr_queue_audio_seconds", "harbour"] == 1200
    assert found["loudr_real_time_factor", "harbour"] == pytest.approx(0.2)
    assert found["loudr_eta_seconds", "harbour"] == pytest.approx(240)
    assert ("loudr_queue_segments", "ferry") not in found
    assert running.label == "harbour"


def test_counters_never_go_back_when_a_render_is_gone(port: int) -> None:
    kept = RenderMetrics()
    render = observed(kept, "harbour", RUNNING)
    metrics.serve("127.0.0.1", port, kept)
    before = scrape(port)
    del render
    gc.collect()
    after = scrape(port)
    assert after["loudr_renders_running", ""] == 0
    assert after["loudr_segments_total", "rendered"] == before["loudr_segments_total", "rendered"]


def test_two_books_of_one_name_are_two_samples(port: int) -> None:
    kept = RenderMetrics()
    both = [observed(kept, "harbour", RUNNING) for _ in range(2)]
    metrics.serve("127.0.0.1", port, kept)
    found = scrape(port)
    assert {label for name, label in found if name == "loudr_queue_segments"} == {
        "harbour", "harbour (2)",
    }  # fmt: skip
    assert len(both) == 2


def test_off_unless_a_port_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().metrics_port is None
    assert Settings().metrics_host == "127.0.0.1"
    monkeypatch.setattr(metrics, "serve", lambda *_: pytest.fail("a server was started"))
    render = cast(BookRender, Render("a", Counts()))
    metrics.observe(render, host="127.0.0.1", port=None)


def test_one_address_is_served_once(port: int) -> None:
    first = metrics.serve("127.0.0.1", port, RenderMetrics())
    assert metrics.serve("127.0.0.1", port, RenderMetrics()) is first


def test_a_taken_port_costs_the_numbers_and_not_the_render(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])
        assert metrics.serve("127.0.0.1", port, RenderMetrics()) is None
    assert f"no metrics at 127.0.0.1:{port}" in caplog.text


def test_without_the_extra_a_set_port_is_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"install loudr\[metrics\]"):
        metrics.serve("127.0.0.1", free_port(), RenderMetrics())
