"""Whatever bytes a recording has: it is read, or refused in one line."""

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.audio.recording import read_recording
from loudr_core.errors import ConfigError

KINDS = ("wav", "flac", "ogg", "aiff", "caf")


@cache
def whole(kind: str) -> bytes:
    rng = np.random.default_rng(1)
    buffer = io.BytesIO()
    soundfile.write(buffer, rng.uniform(-0.5, 0.5, (3000, 2)), 8000, format=kind)
    return buffer.getvalue()


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=12),
    st.one_of(st.none(), st.integers(0, 2**14)),
    st.booleans(),
)
def test_damage_is_read_or_refused(
    kind: str, changes: list[tuple[int, int]], length: int | None, in_header: bool
) -> None:
    content = bytearray(whole(kind))
    for place, value in changes:
        content[place % (64 if in_header else len(content))] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"me.{kind}"
        path.write_bytes(bytes(content[:length]))
        try:
            found = read_recording(path, most_seconds=1)
        except ConfigError as error:
            assert "\n" not in error.message
            assert str(path) in error.message
        else:
            assert 0 < len(found.samples) <= found.sample_rate_hz
            assert found.samples.dtype == np.float32
