import subprocess
import sys

import pytest

from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.speech.registry import ENGINES, OFFERED, engine_limits, open_engine


def test_unknown_engine_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="no engine 'embeded': did you mean 'embedded'"):
        open_engine("embeded")
    with pytest.raises(ConfigError, match="there are embedded, loudr1"):
        engine_limits("zzz")


def test_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="no option 'voise': did you mean 'voice'"):
        open_engine("embedded", voise="heart")


def test_limits_are_those_of_the_engine() -> None:
    assert engine_limits("fake") == open_engine("fake").limits
    assert set(OFFERED) == set(ENGINES) - {"fake"}
    assert all(engine_limits(name).languages for name in ENGINES)


def test_the_embedded_engine_refuses_what_it_cannot_use() -> None:
    with pytest.raises(BundleError, match="takes no bundle"):
        open_engine("embedded", bundle="some/folder")
    with pytest.raises(DeviceError, match="on the cpu only"):
        open_engine("embedded", provider="cuda")
    with pytest.raises(ConfigError, match="no voice 'emma': use 'heart'"):
        open_engine("embedded", voice="emma")


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    script = (
        "import sys\n"
        "import loudr_core.speech.workers, loudr_core.speech.registry\n"
        "print(sorted({'onnxruntime', 'onnx', 'hibari'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
