"""Text funnels: loudr's own, and the optional package with its version pinned."""

import importlib
import importlib.metadata
import json
from pathlib import Path

import pytest

from loudr_core.errors import ConfigError, DeviceError, SynthesisError
from loudr_core.speech.loudr1 import funnel as module
from loudr_core.speech.loudr1.algorithm import TextFunnelIdentity
from loudr_core.speech.loudr1.funnel import FUNNELS, open_funnel


def test_the_plan_has_made_words_already() -> None:
    funnel = open_funnel("loudr")
    assert funnel.prepare("  I have 3 apples.\n", "en") == "I have 3 apples."
    assert funnel.identity == "loudr"


def test_published_texts(test_data: Path) -> None:
    pytest.importorskip("loudkit", reason="the extra loudkit-text is not installed")
    vectors = json.loads((test_data / "specs/loudr1/vectors/text.json").read_text("utf-8"))
    funnel = open_funnel("loudkit")
    for case in vectors["cases"]:
        assert funnel.prepare(case["text"], case["language"]) == case["speech_text"]


def test_the_identity_is_the_one_in_the_models_fingerprints() -> None:
    pytest.importorskip("loudkit", reason="the extra loudkit-text is not installed")
    expected = TextFunnelIdentity()
    assert open_funnel("loudkit").identity == f"loudkit 0.1.1 {expected.recipe} {expected.grammar}"


def test_an_unknown_funnel_is_refused() -> None:
    with pytest.raises(ConfigError, match="use loudr or loudkit"):
        open_funnel("other")
    assert list(FUNNELS) == ["loudr", "loudkit"]


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(DeviceError, match=r"loudr\[loudkit-text\]"):
        open_funnel("loudkit")


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.2.0")
    with pytest.raises(DeviceError, match=r"needs loudkit 0\.1\.1, found 0\.2\.0"):
        open_funnel("loudkit")


def test_a_damaged_package_is_told_from_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ImportError(f"no {name}")

    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1.1")
    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(DeviceError, match=r"is damaged \(no loudkit\.frontend\.speechtext\)"):
        open_funnel("loudkit")


def test_a_refused_text_is_one_line() -> None:
    def refuse(text: str, language: str) -> str:
        raise ValueError("too\nlarge")

    funnel = module._LoudkitFunnel(refuse, "test")
    with pytest.raises(SynthesisError, match="refuses the text: too large"):
        funnel.prepare("1", "en")
