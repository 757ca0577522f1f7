"""`loudr doctor`: what works on this machine, what is missing, and how to get it."""

import importlib.util
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import psutil
from rich.markup import escape
from rich.table import Table

from flows.commands.bundle_shelf import shelf
from flows.commands.doctor_farm import farm
from flows.configuration import Settings
from flows.opening import open_settings_store, pool_size
from flows.output import print_json, results
from loudr_core.errors import LoudrError
from loudr_core.speech.protocol import SpeechRequest
from loudr_core.speech.registry import open_engine
from loudr_core.speech.session import available_providers

__all__ = ["Diagnosis", "diagnose", "run"]

_BAD_DEVICE = 6
_MIN_FREE_BYTES = 2 << 30
_MARKS = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "broken": "[bold red]broken[/]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that was looked at; `missing` is optional, `broken` stops a render."""

    what: str
    state: Literal["ok", "missing", "broken"]
    detail: str


def run(
    settings: Settings, *, bundles: Sequence[Path] = (), verify: bool = False, json_out: bool
) -> int:
    """Print what was found; returns 6 when something that a render needs is broken."""
    findings = list(diagnose(settings, bundles=bundles, verify=verify))
    healthy = all(finding.state != "broken" for finding in findings)
    if json_out:
        print_json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        table = Table(box=None, pad_edge=False)
        for column in ("", "what", "detail"):
            table.add_column(column, overflow="fold")
        for finding in findings:
            table.add_row(_MARKS[finding.state], escape(finding.what), escape(finding.detail))
        results.print(table)
    return 0 if healthy else _BAD_DEVICE


def diagnose(
    settings: Settings, *, bundles: Sequence[Path] = (), verify: bool = False
) -> Iterator[Diagnosis]:
    """Yield every finding, in the order in which a render needs the things.

    Parameters
    ----------
    settings : Settings
    bundles : sequence of Path
        Folders to look for models in, besides those that are known.
    verify : bool
        Read the models that are found, and try them.
    """
    yield Diagnosis(
        what="Python",
        state="ok" if sys.version_info >= (3, 11) else "broken",
        detail=f"{platform.python_version()} on {platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} cores, "
        f"{psutil.virtual_memory().available / 2**30:.1f} GiB of memory free",
    )
    yield _runtime()
    yield _caught("store", lambda: _store(settings))
    yield _caught("engine processes", lambda: f"{pool_size(settings)} fit this machine")
    yield _caught(f"engine {settings.engine}", lambda: _engine(settings))
    for what, state, detail in shelf(settings, bundles, verify=verify):
        yield Diagnosis(what=what, state=state, detail=detail)
    yield _distribution("Prefect", "prefect", "the local executor", needed=True)
    for what, state, detail in farm(settings):
        yield Diagnosis(what=what, state=state, detail=detail)
    yield _extra("the ASR listener", "faster_whisper", "asr")
    yield _extra("the loudkit text funnel", "loudkit", "loudkit-text")
    yield _extra("phonemes of espeak-ng", "piper", "espeak")
    yield _extra("phonemes of Hebrew", "phonikud", "hebrew")
    yield _extra("phonemes of Russian", "ruphon", "russian")
    probe = shutil.which("ffprobe")
    yield Diagnosis(
        what="ffprobe",
        state="ok" if probe else "missing",
        detail=probe or "only a second opinion in tests: the package ffmpeg has it",
    )


def _runtime() -> Diagnosis:
    """Say which onnxruntime is in: the CPU and the GPU package overwrite one another."""
    found = [name for name in ("onnxruntime", "onnxruntime-gpu") if _installed(name)]
    providers = ", ".join(available_providers())
    if len(found) == 2:
        return Diagnosis(
            what="onnxruntime",
            state="broken",
            detail="onnxruntime and onnxruntime-gpu are both installed and overwrite one another: "
            "remove both, then install requirements/base.txt or requirements/gpu.txt",
        )
    if not found:
        return Diagnosis(
            what="onnxruntime", state="broken", detail="not installed: requirements/base.txt has it"
        )
    return Diagnosis(
        what="onnxruntime",
        state="ok",
        detail=f"{found[0]} {version(found[0])}; providers {providers}",
    )


def _store(settings: Settings) -> str:
    store = open_settings_store(settings)
    store.put("doctor/probe", b"probe")
    store.delete("doctor/probe")
    free = shutil.disk_usage(store.url).free if os.path.isdir(store.url) else None  # noqa: PTH112
    if free is not None and free < _MIN_FREE_BYTES:
        raise LoudrError(f"{store.url} has {free / 2**30:.1f} GiB free; a book needs about 2")
    return store.url + (f", {free / 2**30:.0f} GiB free" if free is not None else "")


def _engine(settings: Settings) -> str:
    engine = open_engine(
        settings.engine, bundle=settings.bundle, provider=settings.provider, **settings.options
    )
    voice = engine.voices()[0]
    request = SpeechRequest(
        id="doctor", text="This is a test.", language=voice.language, voice=voice.name, seed=7
    )
    speech = next(iter(engine.synthesize([request])))
    if speech.samples is None:
        raise LoudrError(f"it could not speak: {speech.error}")
    seconds = len(speech.samples) / engine.sample_rate_hz
    return f"spoke {seconds:.1f} s with voice {voice.name} in {speech.compute_s:.2f} s"


def _distribution(what: str, name: str, use: str, *, needed: bool) -> Diagnosis:
    if _installed(name):
        return Diagnosis(what=what, state="ok", detail=f"{version(name)}, for {use}")
    return Diagnosis(
        what=what, state="broken" if needed else "missing", detail=f"not installed; {use} needs it"
    )


def _extra(what: str, module: str, extra: str) -> Diagnosis:
    if importlib.util.find_spec(module):
        return Diagnosis(what=what, state="ok", detail=f"extra {extra} is installed")
    return Diagnosis(what=what, state="missing", detail=f"optional: {_install_command(extra)}")


def _install_command(extra: str) -> str:
    """Return a command that installs an extra here, in a checkout or from an index."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    root = Path(__file__).parents[2]
    what = f"loudr[{extra}]"
    if (root / "pyproject.toml").is_file():
        what = f"{'.' if root == Path.cwd() else root}[{extra}]"
        return shlex.join([str(python), "-m", "pip", "install", "--editable", what])
    return shlex.join([str(python), "-m", "pip", "install", what])


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _caught(what: str, look: Callable[[], str]) -> Diagnosis:
    try:
        return Diagnosis(what=what, state="ok", detail=look())
    except LoudrError as error:
        return Diagnosis(what=what, state="broken", detail=error.message)
