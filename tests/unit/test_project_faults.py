import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "FAULTS.md"


def test_every_fault_has_a_test_that_is_there() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    faults = [row for row in rows if not row.startswith("| fault ")]
    assert len(faults) >= 30
    for row in faults:
        cells = re.split(r"(?<!\\) \| ", row.strip("| "))
        assert len(cells) == 5, row
        (named,) = re.findall(r"`([\w/]+\.py)::(\w+)`", cells[4])
        text = (ROOT / "tests" / named[0]).read_text(encoding="utf-8")
        assert f"def {named[1]}(" in text, named
