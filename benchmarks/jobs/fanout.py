"""All rows of salt buckets in one order, against the same buckets read one after the other."""

from __future__ import annotations

from benchmarks.models import SALT_BUCKETS, SaltedReading, sources
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import OWN, Comparison
from hbase_orm import select
from hbase_orm.execute import CorruptRows
from hbase_orm.query import SaltedScanPlan, ScanPlan
from hbase_orm.reading.stream import read_of, selected
from hbase_orm.session.session import Session

TIMES = 5


def fanout(place: Place) -> list[Comparison]:
    """Compare scans of all rows: bucket after bucket without any order, and merged."""
    rows = TIMES * place.rows
    place.make_anew(SaltedReading)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(SaltedReading(**source._asdict()) for source in sources(rows))
    stmt = select(SaltedReading).allow_full_scan()

    def by_bucket() -> int:
        with place.engine.session() as session:
            return _count_in_turn(session)

    def merged() -> int:
        with place.engine.session() as session, session.stream(stmt) as readings:
            return sum(1 for _ in readings)

    with place.engine.session() as session, session.stream(stmt) as readings:
        keys = [(reading.host, -reading.at.timestamp()) for reading in readings]
    assert keys == sorted(keys)
    assert len(keys) == by_bucket() == rows
    variants = [
        *pair_by_hand("bucket after bucket, each in its own order", by_bucket),
        Variant(OWN, "session.stream(select(...)), in one order", merged),
    ]
    title = f"Full scan of {rows:,} rows of 5 cells in {SALT_BUCKETS} salt buckets"
    return [compare("fanout", title, "row", variants, repetitions=place.repetitions, seed=6)]


def _count_in_turn(session: Session) -> int:
    """Read what the merge reads by the library's own code, but without merging."""
    stmt = select(SaltedReading).allow_full_scan()
    plan = session.explain(stmt)
    assert isinstance(plan, SaltedScanPlan)
    in_turn = ScanPlan(
        schema=plan.schema,
        conditions=plan.conditions,
        limit=None,
        order="none",
        ranges=tuple(key_range for ranges in plan.buckets for key_range in ranges),
        caching_rows=plan.caching_rows,
        most_rows=plan.most_rows,
    )
    bound, runtime = session._state.bound(SaltedReading), session._state.runtime  # noqa: SLF001 - the path of streams
    corrupt = CorruptRows("raise", "SaltedReading")
    pages = runtime.read(read_of(stmt, in_turn, bound, runtime.writer, corrupt).rows)
    return sum(1 for _ in selected(pages, bound, stmt, corrupt))
