"""The example of the page on changed models runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "changing-models.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_is_written() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    code = compile(example, "changing-models.md", "exec", dont_inherit=True)
    exec(code, {"__name__": "changing_models_page"})
