"""Real-time factor of Root A: decoder as an ONNX graph, decoder in numpy, and the two students.

    python benches/bench_sanotts.py [--rounds 5] [--ids 121]

A package of the size of de-thorsten-1p57m with random weights is written to a temporary folder, for
speed does not depend on what weights mean. One core, one row of ids, rounds in turn; the median
counts. The reference package is measured beside ours where it is installed.
"""

import argparse
import importlib.util
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import emit, pin_to_cores, spread

from loudr_core.speech.sanotts.configs import HOP, SAMPLE_RATE_HZ
from loudr_core.speech.sanotts.decoder import decode
from loudr_core.speech.sanotts.decoder_graph import GraphDecoder
from loudr_core.speech.sanotts.package import Package, open_package
from loudr_core.speech.sanotts.students import durations, latent

sys.path.insert(1, str(Path(__file__).parents[1] / "tests" / "bundle"))

_VOCABULARY = 142


def _package(folder: Path) -> tuple[Package, dict[str, Any]]:
    from sanotts_package import configs, write_package

    made = configs(singing=False, vocabulary=_VOCABULARY)
    made["duration"] |= {"hidden": 64, "depth": 3}
    made["acoustic"] |= {"hidden": 96, "depth": 4, "token_depth": 3, "out_channels": 192}
    made["decoder"] |= {"in_channels": 192, "channels": [160, 80, 40, 20]}
    return open_package(write_package(folder, singing=False, components=made)), made


def _timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ids", type=int, default=121)
    asked = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # it is read when numpy is loaded
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    pin_to_cores(1)
    with tempfile.TemporaryDirectory() as folder:
        package, made = _package(Path(folder))
        ids = np.random.default_rng(1).integers(0, _VOCABULARY, asked.ids)
        tensors = package.tensors
        frames = durations(ids, tensors["duration"], package.duration)
        z = latent(ids, frames, tensors["acoustic"], package.acoustic)
        started = time.perf_counter()
        graph = GraphDecoder(tensors["decoder"], package.decoder, path=package.folder)
        load_s = time.perf_counter() - started
        ways: dict[str, Callable[[], Any]] = {
            "students": lambda: latent(
                ids,
                durations(ids, tensors["duration"], package.duration),
                tensors["acoustic"],
                package.acoustic,
            ),
            "decoder_onnx": lambda: graph.decode(z),
            "decoder_numpy": lambda: decode(z, tensors["decoder"], package.decoder),
        }
        if importlib.util.find_spec("sanotts") is not None:
            from sanotts.models import decoder_forward

            theirs = dict(tensors["decoder"])
            ways["decoder_reference"] = lambda: decoder_forward(theirs, made["decoder"], z)
        graph.decode(z)
        peak_onnx = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(asked.rounds):
            for name, run in ways.items():
                seconds[name].append(_timed(run))
        difference = np.abs(graph.decode(z) - decode(z, tensors["decoder"], package.decoder)).max()
    audio_s = int(frames.sum()) * HOP / SAMPLE_RATE_HZ
    emit(
        "sanotts",
        ids=asked.ids,
        audio_s=round(audio_s, 2),
        graph_load_s=round(load_s, 3),
        peak_rss_mib_with_graph=peak_onnx // 1024,
        largest_difference=float(difference),
        real_time_factor={
            name: spread([each / audio_s for each in times]) for name, times in seconds.items()
        },
    )


if __name__ == "__main__":
    main()
