"""A command of a test, waited for, and what it came to."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The object that `--json` printed."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def refuses(self, code: int, words: str) -> None:
        """Hold it to an error of that kind that has these words."""
        assert self.code == code, self.err
        assert words in self.err
        assert "Traceback" not in self.err


def finished(process: "subprocess.Popen[str]", seconds: float) -> Said:
    """Return what a command came to; one that takes longer is killed, and fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate(timeout=60)
        raise AssertionError(f"not done in {seconds:.0f} s:\n{err}") from None
    return Said(process.returncode, out, err)
