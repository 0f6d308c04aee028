"""Filters made of conditions: none drops a row that matches; those said to be exact pass no other."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import connect
from tests.filter_cases import cells, conditions, models, outcome, put_rows
from tests.recording import gateway_of

EXAMPLES = 1_000


def test_what_a_filter_lets_through_matches_or_is_left_to_the_client() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        declared = data.draw(models())
        rows = data.draw(st.lists(cells(declared), min_size=4, max_size=8))
        asked = data.draw(st.lists(conditions(declared), min_size=1, max_size=2))
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

    check()
    # Of what was tried: enough filters of each sort, that dropped rows and left some.
    assert seen["exact"] > EXAMPLES * 0.15
    assert seen["partly"] > EXAMPLES * 0.1
    assert seen["dropped rows"] > EXAMPLES * 0.3
    assert seen["some matched"] > EXAMPLES * 0.2
