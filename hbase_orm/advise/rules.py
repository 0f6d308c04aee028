"""The table of all rules, in the order in which advice is listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from hbase_orm.advise.cell_rules import CELL_RULES
from hbase_orm.advise.family_rules import FAMILY_RULES
from hbase_orm.advise.index_rules import INDEX_RULES
from hbase_orm.advise.key_rules import KEY_RULES
from hbase_orm.advise.region_rules import REGION_RULES
from hbase_orm.advise.remarks import LintRule, LintTarget, Remark, StatementRule
from hbase_orm.advise.spread_rules import SPREAD_RULES
from hbase_orm.advise.statement_rules import STATEMENT_RULES
from hbase_orm.advise.text_rules import TEXT_RULES


def _by_linting(target: LintTarget) -> Iterator[Remark]:
    """Yield nothing: `linting` knows which reasons silenced nothing."""
    del target
    yield from ()


SILENCE_UNUSED: Final = LintRule(
    "silence-unused",
    "note",
    "a reason in __lint__ that silences nothing",
    "it would hide the next mistake of this kind",
    "docs/lint.md",
    _by_linting,
    of_table=False,
)

MODEL_RULES: Final[tuple[LintRule, ...]] = (
    *KEY_RULES,
    *TEXT_RULES,
    *SPREAD_RULES,
    *REGION_RULES,
    *FAMILY_RULES,
    *CELL_RULES,
    *INDEX_RULES,
    SILENCE_UNUSED,
)
"""The rules about models."""

_ALL: Final[tuple[LintRule | StatementRule, ...]] = (*MODEL_RULES, *STATEMENT_RULES)

RULES: Final[Mapping[str, LintRule | StatementRule]] = MappingProxyType(
    {rule.id: rule for rule in _ALL}
)
"""All rules by their ids."""
