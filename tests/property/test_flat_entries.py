"""The quick way to the entries of loaded rows gives what the protocols say that a row needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm.errors import CorruptRowError, RowKeyError, ValidationError
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.schema import TableSchema
from tests.property.quotas import fill, short_of
from tests.property.random_models import Declared, models, row_key, rows

MODELS = 150
LEAST = {"made": 100, "batches": 50, "none": 5, "misfits": 5, "asked the plain way": 30}
WISHED = {
    "made": "plain index",
    "batches": "plain index",
    "none": "plain index",
    "misfits": "plain index",
    "asked the plain way": "partial",
}

Change = tuple[int, bytes | None] | None
"""Which of a row's values something else stands for: None, or what no codec has written."""


@st.composite
def stored(draw: st.DrawFn, wish: str) -> tuple[Declared, list[tuple[dict[str, Any], Change]]]:
    """Draw a model, and rows; two of five have something in a column that may not belong there."""
    declared = draw(models(wish=wish))
    last = len(declared.model.__schema__.columns) - 1
    changes = st.tuples(st.integers(0, last), st.none() | st.binary(max_size=9))
    seldom = st.one_of([st.none()] * 3 + [changes] * 2) if last >= 0 else st.none()
    return declared, [(row, draw(seldom)) for row in draw(rows(declared))]


def flat(schema: Any, mapping: Any, row: dict[str, Any], change: Change) -> tuple[Any, ...]:
    """Return a row as it is stored: its key, and a value or None for each column."""
    cells = mapping.dehydrate(row)
    values = [cells.get(column.column) for column in schema.columns]
    if change is not None:
        values[change[0]] = change[1]
    return row_key(schema.layout, row), *values


def test_entries_made_in_line_are_those_of_the_protocols() -> None:
    met: Counter[str] = Counter()

    def checks(wish: str, examples: int) -> Callable[[], None]:
        @settings(
            max_examples=examples,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(stored(wish))
        def check(drawn: tuple[Declared, list[tuple[dict[str, Any], Change]]]) -> None:
            model, schema = drawn[0].model, drawn[0].model.__schema__
            if schema.indexes and not schema.record_types:
                compare(
                    schema,
                    [
                        (flat(schema, model.__mapping__, row, change), change is not None)
                        for row, change in drawn[1]
                    ],
                    met,
                )

        return check

    checks("", MODELS)()
    fill(lambda: short_of(met, LEAST), lambda case: checks(WISHED[case], 10))

    for case, least in LEAST.items():
        assert met[case] >= least, met


def compare(
    schema: TableSchema, found: list[tuple[tuple[Any, ...], bool]], met: Counter[str]
) -> None:
    """Compare the entries of rows, each with whether something else stands for one of its values."""
    target = guarded_table(schema)
    columns = [column.column for column in schema.columns]
    for index in target.indexes:
        made = index.keys_of_flat(columns)
        if made is None:
            met["asked the plain way"] += 1
            continue
        encoded = [row for row, is_changed in found if not is_changed]
        if made.fits_all:
            assert made.of(encoded) == [key for row in encoded for key in made.of((row,)) or ()]
            met["batches"] += 1
        for row, _ in found:
            pairs = zip(columns, row[1:], strict=True)
            cells = {column: value for column, value in pairs if value is not None}
            quick = made.of((row,))
            try:
                wanted = index.entry_keys(row[0], cells)
            except (CorruptRowError, RowKeyError, ValidationError):
                assert quick is None
                met["misfits"] += 1
                continue
            assert quick is not None
            assert quick == list(wanted)
            met["made" if wanted else "none"] += 1
