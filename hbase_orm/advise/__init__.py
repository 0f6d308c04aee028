"""Advice about declarations, before they hurt: `lint(*models)`, and `watching(engine)`.

Each rule has an id and judges only what is declared: keys that heat one server, families too many,
tables of one region, names that every cell repeats. `docs/lint.md` lists the rules.
"""

from __future__ import annotations

from hbase_orm.advise.linting import lint
from hbase_orm.advise.remarks import DEFAULT_ROWS, Advice, LintRule, StatementRule
from hbase_orm.advise.rules import RULES
from hbase_orm.advise.watching import WatchedStatements, watching

__all__ = [
    "DEFAULT_ROWS",
    "RULES",
    "Advice",
    "LintRule",
    "StatementRule",
    "WatchedStatements",
    "lint",
    "watching",
]
