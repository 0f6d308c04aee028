"""Cases aimed at what a random suite must meet: models that have it, and questions that ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from hbase_orm import Condition
from hbase_orm.schema import Comparison, Expr, InValues
from tests.property.oracle import Case, Question, questions
from tests.property.questions import Values
from tests.property.random_models import Declared, models, rows
from tests.property.wishes import COMPONENTS, INDEXES

PLANS = {"SaltedScan": "RandomSalt", "Tables": "TablePerPeriod", "Index": "index"}
"""The wishes by which models have a plan of a kind."""

EVERY_ROW = "every row"
UNBOUNDED = "unbounded"


@st.composite
def aimed_cases(draw: st.DrawFn, aim: str, *, count: int = 5, is_split: bool = True) -> Case:
    """Draw a model, rows, and questions most of which are of a case.

    Args:
        draw: Hypothesis's.
        aim: A kind of plan, a component, an option of an index, or another case of `_asked`.
        count: How many questions there are.
        is_split: As in `models`.
    """
    wish = aim if aim in {*COMPONENTS, *INDEXES} else PLANS.get(aim, "")
    declared = draw(models(is_split=is_split, wish=wish))
    found = draw(rows(declared))
    asked = [draw(_asked(aim, declared, found)) for _ in range(count)]
    return Case(declared, tuple(found), tuple(asked))


@st.composite
def _asked(draw: st.DrawFn, aim: str, declared: Declared, found: Sequence[Values]) -> Question:
    """Draw a question of a case; where the rows or the model do not have it, any."""
    own = [row for row in found if declared.is_base or _maker(declared, row) is declared.model]
    if not own:
        return draw(questions(declared, found))
    conditions, using = list[Condition](), None
    if aim not in {EVERY_ROW, UNBOUNDED}:
        conditions, using = draw(_of_a_row(aim, declared, draw(st.sampled_from(own))))
    return Question(
        conditions=tuple(conditions),
        orders=(),
        using=using,
        is_full_scan_allowed=aim == EVERY_ROW,
        limit=1 if aim == "several pages" else draw(st.integers(1, 4)),
        caching=draw(st.sampled_from((1, 2, 1000))),
    )


def _maker(declared: Declared, row: Values) -> Any:
    return declared.makers[row["class"]]


@st.composite
def _of_a_row(
    draw: st.DrawFn, aim: str, declared: Declared, row: Values
) -> tuple[list[Condition], str | None]:
    """Draw conditions that a row fulfils, on the fields of the key or of an index; maybe its name."""
    if declared.indexes and (aim == "Index" or aim in INDEXES):
        name = draw(st.sampled_from(sorted(declared.indexes)))
        conditions = [_equals(declared, field, row) for field, _ in declared.indexes[name]]
        conditions += [declared.options[name]["where"]] if "where" in declared.options[name] else []
        return conditions, draw(st.sampled_from((name, name, None)))
    *leading, last = declared.keys
    conditions = [_equals(declared, field, row) for field in leading]
    end = ">=" if aim == "ends at a row" else draw(st.sampled_from(("==", ">=", "<=")))
    field: Expr[Any] = declared.model.__schema__.fields[last]
    conditions.append(Comparison(field, "==" if aim == "Get" else end, row[last]))  # type: ignore[arg-type]  # one of Operator
    if aim == "Empty":
        conditions.append(InValues(field, ()))
    return conditions, None


def _equals(declared: Declared, name: str, row: Values) -> Condition:
    return Comparison(declared.model.__schema__.fields[name], "==", row[name])
