"""A table of phonemes is written as what its name says, or not at all."""

from pathlib import Path

import pytest

from flows.commands.phonemes import run
from flows.configuration import load
from loudr_core.errors import ConfigError


@pytest.mark.parametrize("name", ["book.csv", "book.TSV", "book.xlsx"])
def test_a_name_of_another_kind_of_table_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"is JSON lines \(\.jsonl\) or Parquet"):
        run(
            "book",
            load(home=tmp_path),
            plan_start="",
            dest=tmp_path / name,
            overwrite=True,
            json_out=False,
        )
    assert not list(tmp_path.iterdir())
