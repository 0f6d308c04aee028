"""The example of the page on operations of migrations runs, and its table names all operations."""

from __future__ import annotations

import re
from pathlib import Path

from hbase_orm.migrate import operations

PAGE = (Path(__file__).parents[2] / "docs" / "migration-operations.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_is_written() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    code = compile(example, "migration-operations.md", "exec", dont_inherit=True)
    exec(code, {"__name__": "migration_operations_page"})


def test_the_table_names_every_operation() -> None:
    named = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))

    assert named == set(operations.__all__) - {"Irreversible", "Operation"}
