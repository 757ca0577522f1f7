"""Memory that the next take will need is kept."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from loudr_core.memory import keep_memory
keep_memory()

def make_take():
    return [np.ones(40_000, np.float32) for _ in range(12)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(20):
    make_take()
before = faults()
for _ in range(100):
    make_take()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the options are glibc's")
def test_arrays_of_a_take_are_not_faulted_in_anew() -> None:
    """A take like this is 470 pages; without the options each is faulted in again."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) < 100 * 100
