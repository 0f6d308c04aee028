"""Filters made of conditions: none drops a row that matches; those said to be exact pass no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import connect
from tests.property.quotas import fill, short_of
from tests.support.filtered_rows import cells, conditions, models, outcome, put_rows
from tests.support.recording import gateway_of

EXAMPLES = 500
LEAST = {"exact": 76, "partly": 51, "dropped rows": 151, "some matched": 101}


def test_what_a_filter_lets_through_matches_or_is_left_to_the_client() -> None:
    seen: Counter[str] = Counter()

    def checks(examples: int, depth: int) -> Callable[[], None]:
        @settings(
            max_examples=examples, suppress_health_check=[HealthCheck.too_slow], print_blob=True
        )
        @given(data=st.data())
        def check(data: st.DataObject) -> None:
            compare(data, depth, seen)

        return check

    checks(EXAMPLES, depth=2)()
    # One plain condition is decided by its filter alone, more often than several joined.
    fill(lambda: short_of(seen, LEAST), lambda case: checks(50, depth=0 if case == "exact" else 2))
    # Of what was tried: enough filters of each sort, that dropped rows and left some.
    for case, least in LEAST.items():
        assert seen[case] >= least, seen


def compare(data: st.DataObject, depth: int, seen: Counter[str]) -> None:
    declared = data.draw(models())
    rows = data.draw(st.lists(cells(declared), min_size=4, max_size=8))
    most = 2 if depth else 1
    asked = data.draw(st.lists(conditions(declared, depth), min_size=1, max_size=most))
    with connect("memory://") as engine:
        engine.create_tables(declared.model)
        put_rows(gateway_of(engine), "rows", rows)
        gateway = gateway_of(engine)
        outcome(gateway, declared, "rows", asked, reverse=True).check()
        found = outcome(gateway, declared, "rows", asked, reverse=False)
        found.check()
    seen["exact"] += found.pushed.filter is not None and not found.pushed.remaining
    seen["partly"] += found.pushed.filter is not None and bool(found.pushed.remaining)
    seen["dropped rows"] += len(found.passing) < len(rows)
    seen["some matched"] += 0 < len(found.matching) < len(rows)
